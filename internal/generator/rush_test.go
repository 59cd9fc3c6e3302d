package generator

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowlease/snowlease/snowflake"
	"github.com/stretchr/testify/require"
)

// rushing puts the generator into a rush that no goroutine watches.
func (b *bench) rushing() {
	t, mono := b.term.Load(), b.mono()
	t.end.Store(b.bound(t, mono, b.tick(t, mono)))
}

// on reports whether a rush is under way.
func (r *rush) on() bool { return r.end.Load() != 0 }

// hurried returns a generator on the real clock and its range.
func hurried(t *testing.T) (*Generator, Range) {
	g, err := New(snowflake.Layout{})
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
	g.hurry(t, rush.on)
	require.Eventually(t, func() bool { return !rush.on() && !rush.watched.Load() }, 30*time.Second, time.Millisecond)

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
	g.hurry(t, old.on)
	renewed := r
	renewed.Ceiling++
	require.True(t, g.Extend(r, renewed))
	g.hurry(t, func() bool { return !old.on() && !old.watched.Load() })
	g.hurry(t, g.term.Load().on)
}

// A rush reads the clock for one id in stride and for the first id of a tick.
func TestRushReadsTheClock(t *testing.T) {
	reads := 0
	g, err := New(snowflake.Layout{}, WithClock(func() time.Duration { reads++; return 0 }))
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

// A rush goes on as the clock moves the lead on, and reads the clock no more often.
func TestRushGoesOnBeyondItsFirstLead(t *testing.T) {
	reads, elapsed := 0, time.Duration(0)
	g, err := New(snowflake.Twitter(), WithMaxAhead(2*time.Millisecond), WithClock(func() time.Duration { reads++; return elapsed }))
	require.NoError(t, err)
	b := &bench{Generator: g}
	b.adopt(t, lent(1, t0, time.Minute))
	b.next(t)
	b.rushing()
	reads = 0
	for range 100 {
		elapsed += time.Millisecond
		for range 4096 {
			b.next(t)
		}
	}
	require.True(t, b.term.Load().on())
	require.LessOrEqual(t, reads, 100*4096/stride+1)
	require.EqualValues(t, 100*4096+1, g.Issued())
}

// Callers that exceed the lead end the rush, so that those who wait use up no values.
func TestRushEndsWithTheLead(t *testing.T) {
	b := newBench(t, snowflake.Twitter(), WithMaxAhead(2*time.Millisecond))
	b.adopt(t, lent(1, t0, time.Minute))
	b.next(t)
	b.rushing()
	ids := int64(1)
	for {
		if _, err := b.NextID(); err != nil {
			require.ErrorIs(t, err, ErrExhausted)
			break
		}
		ids++
	}
	last := b.last.Load()
	for range 10 {
		_, err := b.NextID()
		require.ErrorIs(t, err, ErrExhausted)
	}
	require.Equal(t, last, b.last.Load())
	require.Equal(t, ids, b.Issued())

	// The next rush waits until half of the lead is left.
	tm := b.term.Load()
	b.startRush(tm, last)
	require.False(t, tm.on())
	b.advance(2 * time.Millisecond)
	b.startRush(tm, last)
	require.True(t, tm.on())
	b.Stop()
	require.Eventually(t, func() bool { return !tm.watched.Load() }, 30*time.Second, time.Millisecond)
}

// A rush may take values beyond the range. They become no ids, and do not count as used.
func TestRushBeyondTheRange(t *testing.T) {
	b := newBench(t, snowflake.Twitter())
	r := lent(1, t0, 5*time.Millisecond)
	b.adopt(t, r)
	b.next(t)
	b.rushing()
	for {
		if _, err := b.NextID(); err != nil {
			require.ErrorIs(t, err, ErrExhausted)
			break
		}
	}
	<-b.Wanted()
	require.Greater(t, b.last.Load(), b.term.Load().hi)
	require.Equal(t, r.Ceiling, b.Stop())
}

// Several callers may see the first id of a new tick. One of them moves the generator
// there.
func TestRushEntersATickOnce(t *testing.T) {
	b := newBench(t, snowflake.Layout{})
	b.adopt(t, lent(1, t0, time.Minute))
	b.next(t)
	b.rushing()
	b.advance(time.Millisecond)
	tm := b.term.Load()
	end := tm.end.Load()
	v := b.last.Load() | (stride - 1) + 1
	b.last.Store(v + stride) // two callers have taken v and v + stride
	tick := b.tick(tm, b.mono())
	fresh, got := b.turn(tm, v, end)
	require.Equal(t, tm, got)
	require.Equal(t, tick, fresh>>b.seqBits)
	old, got := b.turn(tm, v+stride, end)
	require.Equal(t, tm, got)
	require.Equal(t, v+stride, old)
	require.Equal(t, fresh, b.last.Load())
}

// A caller may pause after it has read the clock, and others enter later ticks. It then
// moves nothing.
func TestRushEntersATickLate(t *testing.T) {
	var elapsed time.Duration
	var meanwhile func()
	g, err := New(snowflake.Layout{}, WithClock(func() time.Duration {
		read, pause := elapsed, meanwhile
		if meanwhile = nil; pause != nil {
			pause()
		}
		return read
	}))
	require.NoError(t, err)
	b := &bench{Generator: g}
	b.adopt(t, lent(1, t0, time.Minute))
	b.next(t)
	b.rushing()
	b.last.Store(b.last.Load() | (stride - 1))
	made := b.Issued()
	elapsed += time.Millisecond
	var others snowflake.Parts
	var last int64
	meanwhile = func() {
		elapsed += time.Millisecond
		for range stride {
			others = b.next(t)
		}
		last = b.last.Load()
	}
	b.next(t)
	require.Equal(t, int64(t0+2), others.Time.UnixMilli())
	require.Equal(t, last, b.last.Load())
	require.Equal(t, made+stride+1, b.Issued())
}

// A batch gets through although others add all the time: it ends the rush.
func TestRushEndsForABatch(t *testing.T) {
	b := newBench(t, snowflake.Layout{})
	b.adopt(t, lent(1, t0, time.Minute))
	b.next(t)
	b.rushing()
	tm, adds := b.term.Load(), 0
	b.at = func(p point) {
		if p == loadedTerm && tm.on() && adds < 10_000 {
			adds++
			b.last.Add(1)
		}
	}
	require.NoError(t, b.NextIDs(t.Context(), make([]int64, 100)))
	require.Less(t, adds, 10_000)
	require.False(t, tm.on())
}

// A caller may wake under a range whose clock was set back. It does not move the
// generator to the former clock.
func TestRushForgetsTheFormerClock(t *testing.T) {
	b := newBench(t, snowflake.Layout{})
	r := lent(1, t0, time.Minute)
	b.adopt(t, r)
	b.next(t)
	b.rushing()
	old := b.term.Load()
	back := r
	back.Now -= 10_000
	require.True(t, b.Extend(r, back))
	b.advance(5 * time.Second)
	v := b.last.Add(1)
	next, _ := b.turn(old, v, old.end.Load())
	require.Equal(t, v+1, next)
	require.Equal(t, next, b.last.Load())
}

// With WithClock there is no rush.
func TestNoRushByAnotherClock(t *testing.T) {
	b := newBench(t, snowflake.Layout{})
	b.adopt(t, lent(1, t0, time.Minute))
	for range b.layout.PerTick() + 2*rushBegin { // through the beginning of a tick
		_, err := b.NextID()
		require.NoError(t, err)
	}
	require.False(t, b.term.Load().watched.Load())
}

// The clock ends a rush even if the watching goroutine never runs: at most stride-1 ids
// are older than a tick.
func TestRushEndsByTheClock(t *testing.T) {
	b := newBench(t, snowflake.Layout{})
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
	require.False(t, b.term.Load().on())
}

// Rushes have one watcher, even if the process stops for ticks again and again and
// resumes before the watcher does. When they are over, there is none.
func TestRushesHaveOneWatcher(t *testing.T) {
	var elapsed, reads atomic.Int64
	g, err := New(snowflake.Layout{}, WithClock(func() time.Duration { reads.Add(1); return time.Duration(elapsed.Load()) }))
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
			b.startRush(tm, 0)
			synctest.Wait() // the watcher sleeps
			require.NoError(t, b.NextIDs(t.Context(), make([]int64, 10*rushRate)))
			elapsed.Add(int64(5 * time.Millisecond))
			for range stride {
				b.next(t)
			}
			require.False(t, tm.on())
		}
		require.EqualValues(t, 1, looks())
		require.Zero(t, looks())

		b.startRush(tm, 0)
		synctest.Wait()
		require.True(t, tm.on())
		require.EqualValues(t, 1, looks())
		require.EqualValues(t, 1, looks())
		b.Stop()
		looks()
		require.Zero(t, looks())
	})
}

// A rush may begin again just when the goroutine that watched the last one is about to
// leave. It watches this one too.
func TestRushBeginsAsItsWatcherLeaves(t *testing.T) {
	b := newBench(t, snowflake.Layout{})
	b.adopt(t, lent(1, t0, time.Minute))
	b.next(t)
	tm := b.term.Load()
	synctest.Test(t, func(t *testing.T) {
		again := true
		b.at = func(p point) {
			if p == endedRush && again {
				again = false
				b.startRush(tm, b.last.Load())
			}
		}
		// lull passes without ids until the watcher has looked, and sleeps or has left.
		lull := func() {
			synctest.Wait()
			b.advance(rushLook)
			time.Sleep(rushLook)
			synctest.Wait()
		}
		b.startRush(tm, b.last.Load())
		lull()
		require.True(t, tm.on())
		require.True(t, tm.watched.Load())
		lull()
		require.False(t, tm.on())
		require.False(t, tm.watched.Load())
	})
}

// Ids of a rush respect the lead and the ceiling like ids that read the clock.
func TestRushKeepsToTheLeadAndTheCeiling(t *testing.T) {
	for _, ttl := range []time.Duration{5 * time.Millisecond, time.Minute} {
		t.Run(ttl.String(), func(t *testing.T) {
			var ends [2]int64
			for i := range ends {
				b := newBench(t, snowflake.Twitter(), WithMaxAhead(10*time.Millisecond))
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

// The next tick may lie beyond the range.
func TestRushEntersNoTickBeyondTheRange(t *testing.T) {
	b := newBench(t, snowflake.Layout{})
	b.adopt(t, lent(1, t0, time.Millisecond))
	b.next(t)
	b.rushing()
	b.advance(2 * time.Millisecond)
	tm := b.term.Load()
	v := tm.hi&^b.seqMask + stride // in the last tick
	b.last.Store(v)
	_, got := b.turn(tm, v, tm.end.Load())
	require.Nil(t, got)
}

// On the real clock, all kinds of callers run while the range is renewed again and
// again, dropped and replaced, and while a stop meets an adoption. Half of the
// ranges begin ahead of the clock.
func TestRushAcrossHandovers(t *testing.T) {
	const grants, batch, calls = 30, stride - 1, 60_000
	g, err := New(snowflake.Layout{TimeBits: 40, WorkerBits: 10, BusinessBits: 1, SequenceBits: 12})
	require.NoError(t, err)
	var begun atomic.Int64
	g.at = func(p point) {
		if p == beganRush {
			begun.Add(1)
		}
	}
	var lent [grants + 1]Range // by worker id
	var used [grants + 1]int64
	lend := func(worker int64) Range {
		now := time.Now().UnixMilli()
		from := now - 1 + worker/(grants/2)*10_000
		return Range{Worker: worker, Floor: from, Ceiling: from + 60_000, Now: now, At: g.Elapsed()}
	}
	lent[0] = lend(0)
	_, err = g.Adopt(lent[0])
	require.NoError(t, err)

	var top, gone atomic.Int64 // the greatest id seen, without its business number, and the first worker id that may still be used
	var done sync.WaitGroup
	ids := make([][]int64, 8)
	for i := range ids {
		s, err := g.For(int64(i % 2))
		require.NoError(t, err)
		done.Go(func() {
			buf := make([]int64, batch)
			for n := range calls {
				got := buf[:1]
				before, from := top.Load(), gone.Load()
				switch n % stride {
				case 0:
					got = buf
					err = s.NextIDs(t.Context(), got)
				case 1:
					got[0], err = s.NextIDWait(t.Context())
				default:
					got[0], err = s.NextID()
				}
				if errors.Is(err, ErrStopped) {
					return
				} else if err != nil {
					continue
				}
				ids[i] = append(ids[i], got...)
				first, last := got[0]&^s.prefix, got[len(got)-1]&^s.prefix
				if p, err := g.layout.Decode(first); err != nil || first <= before || p.Worker < from {
					t.Errorf("id %d of worker %d after %d and the end of worker %d: %v", first, p.Worker, before, from-1, err)
					return
				}
				if n%4 == 0 { // seldom, since this slows the issue
					for top := &top; ; {
						if seen := top.Load(); last <= seen || top.CompareAndSwap(seen, last) {
							break
						}
					}
				}
			}
		})
	}
	issued := int64(0)
	for w := range int64(grants) {
		for range 50 {
			next := lent[w]
			next.Ceiling++
			require.True(t, g.Extend(lent[w], next))
			lent[w] = next
			n := g.Issued()
			require.GreaterOrEqual(t, n, issued)
			issued = n
		}
		time.Sleep(time.Millisecond)
		lent[w+1] = lend(w + 1)
		switch {
		case w == grants-1:
			var stop sync.WaitGroup
			var stopped int64
			stop.Go(func() { stopped = g.Stop() })
			used[w], _ = g.Adopt(lent[w+1])
			stop.Wait()
			used[w] = max(used[w], stopped)
			used[w+1] = stopped
		case w%2 == 0:
			used[w] = g.Drop()
			gone.Store(w + 1)
			_, err = g.Adopt(lent[w+1])
			require.NoError(t, err)
		default:
			used[w], err = g.Adopt(lent[w+1])
			require.NoError(t, err)
			gone.Store(w + 1)
		}
	}
	done.Wait()
	seen := map[int64]bool{}
	for _, mine := range ids {
		for _, id := range mine {
			p, err := g.layout.Decode(id)
			ms := p.Time.UnixMilli()
			if r := lent[p.Worker]; err != nil || ms <= r.Floor || ms > r.Ceiling || ms > used[p.Worker] || seen[id] {
				t.Fatalf("id %d, %+v, in %+v used until %d, twice %v: %v", id, p, r, used[p.Worker], seen[id], err)
			}
			seen[id] = true
		}
	}
	t.Logf("%d ids, %d rushes", len(seen), begun.Load())
	require.Positive(t, begun.Load())
	require.GreaterOrEqual(t, g.Issued(), int64(len(seen)))
}
