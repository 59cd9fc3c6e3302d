package generator

import (
	"errors"
	"slices"
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

// rushes adopts a range, issues an id and is in a rush then.
func (b *bench) rushes(t testing.TB, r Range) {
	t.Helper()
	b.adopt(t, r)
	b.next(t)
	b.rushing()
}

// on reports whether a rush is under way.
func (r *rush) on() bool { return r.end.Load() != 0 }

// On the real clock, a rush begins when ids come fast enough, and ends when they do not.
func TestRushBeginsAndEnds(t *testing.T) {
	g, now := New(snowflake.Layout{}), time.Now().UnixMilli()
	_, err := g.Adopt(Range{Worker: 1, Floor: now - 1, Ceiling: now + 60_000, Now: now, At: g.Elapsed()})
	require.NoError(t, err)
	t.Cleanup(func() { g.Stop() })
	rush := &g.term.Load().rush
	for start := time.Now(); !rush.on(); {
		if _, err := g.NextID(); err != nil || time.Since(start) > 30*time.Second {
			t.Fatal("no rush begins", err)
		}
	}
	require.Eventually(t, func() bool { return !rush.on() && !rush.watched.Load() }, 30*time.Second, time.Millisecond)

	// After the rush, ids carry the time of the clock.
	before := g.tick(g.term.Load(), g.mono())
	id, err := g.NextID()
	require.NoError(t, err)
	require.GreaterOrEqual(t, id>>g.tsShift, before)
}

// A rush reads the clock for one id in stride and for the first id of a tick.
func TestRushReadsTheClock(t *testing.T) {
	reads := 0
	b := newBench(t, snowflake.Layout{}, WithClock(func() time.Duration { reads++; return 0 }))
	b.rushes(t, lent(1, t0, time.Minute))
	reads = 0
	for range 100 * stride {
		b.next(t)
	}
	require.Equal(t, 100, reads)
	b.last.Store(b.last.Load() | b.seqMask)
	b.next(t)
	require.Equal(t, 101, reads)
}

// A rush goes on as the clock moves the lead on, and reads the clock no more often.
func TestRushGoesOnBeyondItsFirstLead(t *testing.T) {
	reads, elapsed := 0, time.Duration(0)
	b := newBench(t, snowflake.Twitter(), WithMaxAhead(2*time.Millisecond), WithClock(func() time.Duration { reads++; return elapsed }))
	b.rushes(t, lent(1, t0, time.Minute))
	reads = 0
	for range 100 {
		elapsed += time.Millisecond
		for range 4096 {
			b.next(t)
		}
	}
	require.True(t, b.term.Load().on())
	require.LessOrEqual(t, reads, 100*4096/stride+1)
	require.EqualValues(t, 100*4096+1, b.Issued())
}

// Callers that exceed the lead end the rush, so that those who wait use up no values.
func TestRushEndsWithTheLead(t *testing.T) {
	b := newBench(t, snowflake.Twitter(), WithMaxAhead(2*time.Millisecond))
	b.rushes(t, lent(1, t0, time.Minute))
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
	b.rushes(t, r)
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
	b.rushes(t, lent(1, t0, time.Minute))
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
	b := newBench(t, snowflake.Layout{}, WithClock(func() time.Duration {
		read, pause := elapsed, meanwhile
		if meanwhile = nil; pause != nil {
			pause()
		}
		return read
	}))
	b.rushes(t, lent(1, t0, time.Minute))
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
	b.rushes(t, lent(1, t0, time.Minute))
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
// generator to the previous clock.
func TestRushForgetsTheFormerClock(t *testing.T) {
	b := newBench(t, snowflake.Layout{})
	r := lent(1, t0, time.Minute)
	b.rushes(t, r)
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
	b.rushes(t, lent(1, t0, time.Minute))
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
	b := newBench(t, snowflake.Layout{}, WithClock(func() time.Duration { reads.Add(1); return time.Duration(elapsed.Load()) }))
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

// The next tick may lie beyond the range.
func TestRushEntersNoTickBeyondTheRange(t *testing.T) {
	b := newBench(t, snowflake.Layout{})
	b.rushes(t, lent(1, t0, time.Millisecond))
	b.advance(2 * time.Millisecond)
	tm := b.term.Load()
	v := tm.hi&^b.seqMask + stride // in the last tick
	b.last.Store(v)
	_, got := b.turn(tm, v, tm.end.Load())
	require.Nil(t, got)
}

// On the real clock, callers run while the range is renewed again and again, dropped and replaced.
// Half of the ranges begin ahead of the clock.
func TestRushAcrossHandovers(t *testing.T) {
	const grants, batch = 30, stride - 1
	g := New(snowflake.Layout{TimeBits: 40, WorkerBits: 10, BusinessBits: 1, SequenceBits: 12})
	var begun atomic.Int64
	g.at = func(p point) {
		if p == beganRush {
			begun.Add(1)
		}
	}
	var lent [grants]Range // by worker id
	var used [grants]int64
	var gone atomic.Int64 // the first worker id that may still be used
	var done sync.WaitGroup
	ids := make([][]int64, 8)
	for w := range int64(grants) {
		now := time.Now().UnixMilli()
		from := now - 1 + w/(grants/2)*10_000
		lent[w] = Range{Worker: w, Floor: from, Ceiling: from + 60_000, Now: now, At: g.Elapsed()}
		last, err := g.Adopt(lent[w])
		require.NoError(t, err)
		if w > 0 {
			used[w-1] = max(used[w-1], last)
		}
		gone.Store(w)
		for i := range ids {
			if w > 0 {
				break
			}
			s, err := g.For(int64(i % 2))
			require.NoError(t, err)
			done.Go(func() {
				buf := make([]int64, batch)
				for n, err := 0, error(nil); !errors.Is(err, ErrClosed); n++ {
					got := buf[:1]
					from := gone.Load()
					if n%stride == 0 {
						got = buf
						err = s.NextIDs(t.Context(), got)
					} else {
						got[0], err = s.NextID()
					}
					if err != nil {
						continue
					}
					if p, err := g.layout.Decode(got[0]); err != nil || p.Worker < from {
						t.Errorf("id %d of worker %d after the end of worker %d: %v", got[0], p.Worker, from-1, err)
					}
					ids[i] = append(ids[i], got...)
				}
			})
		}
		for range 50 {
			next := lent[w]
			next.Ceiling++
			require.True(t, g.Extend(lent[w], next))
			lent[w] = next
		}
		time.Sleep(time.Millisecond)
		if w%2 == 0 {
			used[w] = g.Drop()
		}
	}
	used[grants-1] = g.Stop()
	done.Wait()
	seen := map[int64]bool{}
	for i, mine := range ids {
		require.True(t, slices.IsSorted(mine))
		for _, id := range mine {
			p, err := g.layout.Decode(id)
			ms := p.Time.UnixMilli()
			if r := lent[p.Worker]; err != nil || p.Business != int64(i%2) || ms <= r.Floor || ms > r.Ceiling || ms > used[p.Worker] || seen[id] {
				t.Fatalf("id %d, %+v, in %+v used until %d, twice %v: %v", id, p, r, used[p.Worker], seen[id], err)
			}
			seen[id] = true
		}
	}
	require.Positive(t, begun.Load())
	require.GreaterOrEqual(t, g.Issued(), int64(len(seen)))
}
