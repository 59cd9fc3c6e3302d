package generator

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowlease/snowlease/snowflake"
	"github.com/stretchr/testify/require"
)

// The lead of a burst ends at the ceiling, however much of it is left. The time in the
// id counts, not the clock.
func TestLeadEndsAtTheCeiling(t *testing.T) {
	b := newBench(t, snowflake.JSSafe())
	r := Range{Worker: 1, Floor: t0 - 1, Ceiling: t0 + 4, Now: t0}
	b.adopt(t, r)
	got := 0
	for _, want := range []int64{1, 100, 64 * 5, 1} {
		v, n, tm := b.take(want)
		for i := range n {
			p, err := b.layout.Decode(b.id(tm, v+i))
			require.NoError(t, err)
			require.LessOrEqual(t, p.Time.UnixMilli(), r.Ceiling)
		}
		got += int(n)
	}
	require.LessOrEqual(t, got, 64*5)
	require.Greater(t, got, 64*4)
	// The renewal may be under way.
	_, err := b.NextID()
	require.ErrorIs(t, err, ErrExhausted)
	require.NoError(t, b.Err())
	// It was tried.
	b.RenewalFailed()
	_, err = b.NextID()
	require.ErrorIs(t, err, ErrLeaseExpired)
	require.ErrorIs(t, b.Err(), ErrLeaseExpired)
	// It came.
	next := r
	next.Ceiling += 2
	require.True(t, b.Extend(r, next))
	require.NoError(t, b.NextIDs(t.Context(), make([]int64, 64*2)))
	_, err = b.NextID()
	require.ErrorIs(t, err, ErrExhausted)
	// Time has passed the range.
	b.advance(7 * time.Millisecond)
	_, err = b.NextID()
	require.ErrorIs(t, err, ErrLeaseExpired)
	require.ErrorIs(t, b.Err(), ErrLeaseExpired)
}

// Callers who wait at the end of a range get ids as soon as it is renewed.
func TestWaitForARenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.UnixMilli(t0)))
		b := newBench(t, snowflake.JSSafe())
		b.adopt(t, lent(1, t0, 5*time.Millisecond))
		b.take(1 << 20)
		renewed := func() {
			r := b.term.Load().Range
			next := r
			next.Ceiling += 10
			require.True(t, b.Extend(r, next))
		}
		begun := time.Now()
		time.AfterFunc(b.layout.TimeUnit/2, renewed)
		_, err := b.NextID()
		require.NoError(t, err)
		require.Equal(t, b.layout.TimeUnit/2, time.Since(begun))
		time.AfterFunc(time.Hour, renewed)
		require.NoError(t, b.NextIDs(t.Context(), make([]int64, 64*15)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		time.AfterFunc(time.Minute, b.RenewalFailed)
		err = b.NextIDs(ctx, make([]int64, 64*10))
		require.ErrorIs(t, err, ErrLeaseExpired)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// Half of a range means half of its rest at the time when it is installed.
func TestWanted(t *testing.T) {
	wanted := func(b *bench) bool {
		select {
		case <-b.Wanted():
			return true
		default:
			return false
		}
	}
	b := newBench(t, snowflake.JSSafe())
	require.Nil(t, b.Wanted())
	r := Range{Worker: 1, Floor: t0 - 1, Ceiling: t0 + 99, Now: t0}
	b.adopt(t, r)
	require.NoError(t, b.NextIDs(t.Context(), make([]int64, 64*49)))
	require.False(t, wanted(b))
	require.NoError(t, b.NextIDs(t.Context(), make([]int64, 64*2)))
	require.True(t, wanted(b))

	next := r // used by time
	next.Ceiling, next.Now, next.At = t0+149, t0+50, b.Elapsed()
	require.True(t, b.Extend(r, next))
	require.False(t, wanted(b))
	b.advance(40 * time.Millisecond)
	b.next(t)
	require.False(t, wanted(b))
	b.advance(15 * time.Millisecond)
	b.next(t)
	require.True(t, wanted(b))

	require.True(t, b.Extend(next, next))
	b.rushing()
	for range 64 * 30 {
		b.next(t)
	}
	require.True(t, b.term.Load().on())
	require.True(t, wanted(b))

	late := next // gives no more yet
	late.Grows = late.Ceiling
	require.True(t, b.Extend(next, late))
	require.NoError(t, b.NextIDs(t.Context(), make([]int64, 64*10)))
	require.False(t, wanted(b))
}

func TestBatchThatFailsLeavesNothing(t *testing.T) {
	b := newBench(t, snowflake.JSSafe(), WithMaxAhead(5*time.Millisecond))
	b.adopt(t, lent(1, t0, time.Minute))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ids := make([]int64, 64*10) // more than the lead
	require.ErrorIs(t, b.NextIDs(ctx, ids), ErrExhausted)
	require.Equal(t, make([]int64, len(ids)), ids)
	require.Greater(t, b.Issued(), int64(64*4), "part of it was reserved")
}

// A batch that waits when the range is dropped has nothing of that range, which a copy of the
// process may have reserved too, even if it sleeps through a stop and another start. Another range
// alone does not make it start again.
func TestBatchStartsAgainAfterADrop(t *testing.T) {
	for by, swap := range map[string]func(b *bench){
		"drop": func(b *bench) { b.Drop() }, "another range": func(*bench) {},
		"stop": func(b *bench) {
			b.Drop()
			b.Stop()
			b.Resume()
		},
	} {
		b := newBench(t, snowflake.JSSafe(), WithMaxAhead(5*time.Millisecond))
		asleep := new(sync.RWMutex)
		b.at = func(p point) {
			if p == loadedLast {
				asleep.RLock()
				defer asleep.RUnlock()
			}
		}
		b.adopt(t, lent(3, t0, time.Minute))
		b.Drop()
		b.adopt(t, lent(1, t0, time.Minute))
		ids, done := make([]int64, 64*10), make(chan error, 1)
		go func() { done <- b.NextIDs(t.Context(), ids) }()
		require.Eventually(t, func() bool { return b.Waits() > 0 }, time.Minute, time.Millisecond)
		asleep.Lock()
		swap(b)
		b.adopt(t, lent(2, t0+1000, time.Minute))
		asleep.Unlock()
		b.Extend(b.term.Load().Range, b.term.Load().Range)
		var err error
		require.Eventually(t, func() bool {
			b.advance(time.Millisecond)
			select {
			case err = <-done:
				return true
			default:
				return false
			}
		}, time.Minute, time.Millisecond)
		require.NoError(t, err)
		require.True(t, slices.IsSorted(ids))
		require.Len(t, slices.Compact(slices.Clone(ids)), len(ids))
		workers := map[int64]int{}
		for _, id := range ids {
			p, err := b.layout.Decode(id)
			require.NoError(t, err)
			workers[p.Worker]++
		}
		require.Equal(t, by != "another range", workers[1] == 0)
		require.Positive(t, workers[2])
	}
}

// No id is 0, not even the first one of worker 0 in the first tick of the epoch.
func TestNoIDIsZero(t *testing.T) {
	t.Parallel()
	for range 100 {
		b := newBench(t, snowflake.Layout{SequenceBits: 1})
		b.layout.Epoch = t0
		b.adopt(t, Range{Worker: 0, Floor: t0 - 1, Ceiling: t0 + 1000, Now: t0, At: b.Elapsed()})
		id, err := b.NextID()
		require.NoError(t, err)
		require.Positive(t, id)
	}
}
