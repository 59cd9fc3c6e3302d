package snowflake

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// rushing puts the generator into a rush that does not end.
func (b *bench) rushing() { b.term.Load().rush.Store(rushing) }

// hurried returns a generator on the real clock and its range.
func hurried(t *testing.T) (*Generator, Range) {
	g, err := NewGenerator(Layout{})
	require.NoError(t, err)
	now := time.Now().UnixMilli()
	r := Range{Worker: 1, Floor: now - 1, Ceiling: now + 60_000, Now: now, At: g.Elapsed()}
	_, err = g.Adopt(r)
	require.NoError(t, err)
	t.Cleanup(func() { g.Stop() })
	return g, r
}

// hurry issues ids as fast as it can until done returns true.
func (g *Generator) hurry(t *testing.T, done func() bool) {
	last := int64(0)
	for start := time.Now(); !done(); {
		id, err := g.NextID()
		if err != nil || id <= last {
			t.Fatalf("%d after %d: %v", id, last, err)
		}
		if last = id; time.Since(start) > 30*time.Second {
			t.Fatal("the condition was not met within 30s")
		}
	}
}

func TestRushBeginsAndEnds(t *testing.T) {
	g, _ := hurried(t)
	rush := &g.term.Load().rush
	g.hurry(t, func() bool { return rush.Load() == rushing })
	require.Eventually(t, func() bool { return rush.Load() == calm }, 30*time.Second, time.Millisecond)

	// After the rush, ids carry the time of the clock.
	before := g.tick(g.term.Load(), g.mono())
	id, err := g.NextID()
	require.NoError(t, err)
	require.GreaterOrEqual(t, id>>g.tsShift, before)
}

// A rush ends with its term, even if ids come as fast under the next term.
func TestRushEndsWithItsTerm(t *testing.T) {
	g, r := hurried(t)
	old := g.term.Load()
	g.hurry(t, func() bool { return old.rush.Load() == rushing })
	renewed := r
	renewed.Ceiling++
	require.True(t, g.Extend(r, renewed))
	g.hurry(t, func() bool { return old.rush.Load() == calm })
	next := g.term.Load()
	g.hurry(t, func() bool { return next.rush.Load() == rushing })
}

// A rush reads the clock for one id in stride and for the first id of a tick.
func TestRushReadsTheClock(t *testing.T) {
	reads := 0
	g, err := NewGenerator(Layout{}, WithClock(func() time.Duration { reads++; return 0 }))
	require.NoError(t, err)
	b := &bench{Generator: g}
	b.adopt(t, lent(1, t0, time.Minute))
	b.next(t)
	b.rushing()
	reads = 0
	for range 100 * stride {
		b.next(t)
	}
	require.Equal(t, 100, reads)
	g.last.Store(g.last.Load() | g.seqMask)
	b.next(t)
	require.Equal(t, 101, reads)
}

// The clock ends a rush even if the watching goroutine never runs: at most stride-1 ids
// are older than a tick.
func TestRushEndsByTheClock(t *testing.T) {
	b := newBench(t, Layout{})
	b.adopt(t, lent(1, t0, time.Minute))
	b.next(t)
	b.rushing()
	old := 0
	for range 3 * stride {
		b.advance(10 * time.Millisecond)
		if p := b.next(t); p.Time.UnixMilli() < t0+b.Elapsed().Milliseconds() {
			old++
		}
	}
	require.Less(t, old, stride)
	require.Equal(t, easing, b.term.Load().rush.Load())
}

// Rushes have one watcher, even if the process stops for ticks again and again and
// resumes before the watcher does. When they are over, there is none.
func TestRushesHaveOneWatcher(t *testing.T) {
	var elapsed, reads atomic.Int64
	g, err := NewGenerator(Layout{}, WithClock(func() time.Duration { reads.Add(1); return time.Duration(elapsed.Load()) }))
	require.NoError(t, err)
	b := &bench{Generator: g}
	b.adopt(t, lent(1, t0, time.Minute))
	tm := b.term.Load()
	synctest.Test(t, func(t *testing.T) {
		defer func() {
			elapsed.Add(int64(time.Hour)) // every watcher sees a lull
			time.Sleep(2 * rushLook)
		}()
		// looks returns how many watchers check the rate. Each reads the clock once.
		looks := func() int64 {
			reads.Store(0)
			time.Sleep(rushLook)
			synctest.Wait()
			return reads.Load()
		}
		for range 26 {
			b.rush(tm)
			synctest.Wait() // the watcher sleeps
			require.NoError(t, b.NextIDs(t.Context(), make([]int64, 10*rushRate)))
			elapsed.Add(int64(5 * time.Millisecond))
			b.take(1)
			require.NotEqual(t, rushing, tm.rush.Load())
		}
		require.EqualValues(t, 1, looks())
		require.Zero(t, looks())

		b.rush(tm)
		synctest.Wait()
		require.Equal(t, rushing, tm.rush.Load())
		require.EqualValues(t, 1, looks())
		require.EqualValues(t, 1, looks())
		b.Stop()
		looks()
		require.Zero(t, looks())
	})
}

// Ids of a rush respect the lead and the ceiling like ids that read the clock.
func TestRushKeepsToTheLeadAndTheCeiling(t *testing.T) {
	for _, ttl := range []time.Duration{5 * time.Millisecond, time.Minute} {
		t.Run(ttl.String(), func(t *testing.T) {
			var ends [2]int64
			for i := range ends {
				b := newBench(t, Twitter(), WithMaxAhead(10*time.Millisecond))
				b.adopt(t, lent(1, t0, ttl))
				if i == 1 {
					b.rushing()
				}
				for {
					v, err := b.NextID()
					if err != nil {
						require.True(t, errors.Is(err, ErrExhausted) || errors.Is(err, ErrLeaseExpired), err)
						break
					}
					ends[i] = v
				}
			}
			require.Equal(t, ends[0], ends[1])
		})
	}
}

// rush returns the body of an actor that issues ids as NextID does, but tries only
// once.
func (l *issueLog) rush(n int) func() {
	return func() {
		for range n {
			var before int64
			for _, id := range l.ids {
				before = max(before, id)
			}
			v, tm := l.b.follow()
			if tm == nil {
				var n int64
				if v, n, tm = l.b.take(1); n == 0 {
					continue
				}
			}
			id := l.b.id(tm, v)
			if id <= before {
				l.faults = append(l.faults, fmt.Errorf("id %d was issued after %d", id, before))
			}
			l.ids = append(l.ids, id)
		}
	}
}

func TestEveryInterleavingOfARushAndASwapper(t *testing.T) {
	n := explore(t, func(b *bench) (map[string]func(), func() error) {
		old, next := lent(9, t0, time.Minute), lent(2, t0, time.Minute)
		b.adopt(t, old)
		b.next(t)
		b.rushing()
		l := &issueLog{b: b}
		used := map[int64]int64{}
		actors := map[string]func(){
			"a": l.rush(1),
			"b": l.issue(3),
			"c": func() { used[9], _ = b.Adopt(next) },
		}
		return actors, func() error {
			l.rush(1)()
			return l.check(map[int64]Range{9: old, 2: next}, used)
		}
	})
	t.Logf("%d interleavings", n)
	require.Greater(t, n, 5000)
}

func TestEveryInterleavingOfARushAndAStop(t *testing.T) {
	n := explore(t, func(b *bench) (map[string]func(), func() error) {
		r := lent(9, t0, time.Minute)
		b.adopt(t, r)
		b.next(t)
		b.rushing()
		l := &issueLog{b: b}
		used := map[int64]int64{}
		actors := map[string]func(){
			"a": l.rush(2),
			"b": l.rush(1),
			"c": func() { used[9] = b.Stop() },
		}
		return actors, func() error {
			if _, err := b.NextID(); !errors.Is(err, ErrStopped) {
				return fmt.Errorf("an id after Stop: %w", err)
			}
			return l.check(map[int64]Range{9: r}, used)
		}
	})
	t.Logf("%d interleavings", n)
	require.Greater(t, n, 100)
}

// On the real clock, ids of four goroutines are unique and ascend in each while the
// range is renewed and replaced.
func TestRushAcrossHandovers(t *testing.T) {
	g, err := NewGenerator(Layout{})
	require.NoError(t, err)
	lend := func(worker int64) Range {
		now := time.Now().UnixMilli()
		return Range{Worker: worker, Floor: now - 1, Ceiling: now + 60_000, Now: now, At: g.Elapsed()}
	}
	r := lend(1)
	_, err = g.Adopt(r)
	require.NoError(t, err)
	var done sync.WaitGroup
	ids := make([][]int64, 4)
	for i := range ids {
		done.Go(func() {
			for range 100_000 {
				if id, err := g.NextID(); err == nil {
					ids[i] = append(ids[i], id)
				}
			}
		})
	}
	for worker := range int64(20) {
		next := r
		next.Ceiling++
		g.Extend(r, next)
		r = lend(31 - worker)
		_, err := g.Adopt(r)
		require.NoError(t, err)
		time.Sleep(time.Millisecond)
	}
	done.Wait()
	g.Stop()
	seen := map[int64]bool{}
	for _, mine := range ids {
		last := int64(0)
		for _, id := range mine {
			require.Greater(t, id, last)
			require.False(t, seen[id])
			last, seen[id] = id, true
		}
	}
	require.EqualValues(t, len(seen), g.Issued())
}
