package numbers_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/internal/test/segmentcheck"
	"github.com/snowlease/snowlease/numbers"
)

// A process and its copy issue no number twice if the copy resets. One Issuer plays
// both, so it may not go on with what it held.
func TestResetGivesUpWhatIsPrefetched(t *testing.T) {
	t.Parallel()
	store := &segmentcheck.Memory{}
	i := open(t, numbers.SegmentConfig{Step: 10, MinStep: 10, MaxStep: 10}, store)
	seen := map[int64]bool{}
	next := func() int64 {
		n, err := i.Next(t.Context())
		require.NoError(t, err)
		require.False(t, seen[n])
		seen[n] = true
		return n
	}
	require.Equal(t, int64(1), next())
	for round := range int64(20) {
		// The greatest number reserved by anybody before the reset.
		r, err := store.Reserve(t.Context(), numberstore.Request{Name: "shop/orders", N: 1, Max: 1 << 40, Start: 1})
		require.NoError(t, err)
		i.Reset()
		require.Greater(t, next(), r.First)
		require.Equal(t, round+2, i.Status().Issued, "what is given up is not issued")
	}
}

// late is a store whose answers can be held up.
type late struct {
	segmentcheck.Memory
	hold          atomic.Bool
	asked, answer chan struct{}
}

func (l *late) Reserve(ctx context.Context, r numberstore.Request) (numberstore.Range, error) {
	got, err := l.Memory.Reserve(ctx, r)
	if l.hold.Load() {
		l.asked <- struct{}{}
		<-l.answer
	}
	return got, err
}

// A batch of several segments keeps nothing of those before the reset.
func TestResetBetweenTheSegmentsOfABatch(t *testing.T) {
	t.Parallel()
	for _, strict := range []bool{false, true} {
		store := &late{asked: make(chan struct{}), answer: make(chan struct{})}
		i := open(t, numbers.SegmentConfig{Strict: strict, Step: 10, MinStep: 10, MaxStep: 10}, store)
		out, done := make([]int64, 25), make(chan error, 1)
		batch := func() { done <- i.NextIDs(context.Background(), out) }
		if !strict { // 1 to 20 are there, and 21 to 30 are asked for
			require.Eventually(t, func() bool { return i.Status().Reservations == 2 }, 30*time.Second, time.Millisecond)
			store.hold.Store(true)
			go batch()
			<-store.asked
			require.Eventually(t, func() bool { return i.Status().Waits > 0 }, 30*time.Second, time.Millisecond)
		} else { // 1 to 20 are in the batch
			store.hold.Store(true)
			go batch()
			<-store.asked
			store.answer <- struct{}{}
			<-store.asked
		}
		i.Reset()
		store.hold.Store(false)
		close(store.answer)
		require.NoError(t, <-done)
		require.True(t, slices.IsSorted(out))
		require.Greater(t, out[0], int64(20))
		issued := i.Status().Issued
		require.GreaterOrEqual(t, issued, int64(len(out)))
		require.NoError(t, i.Close())
		require.Equal(t, issued, i.Status().Issued)
	}
}

// An answer under way at the reset belongs to the copies as well.
func TestResetForgetsAnswersUnderWay(t *testing.T) {
	t.Parallel()
	for strict, want := range map[bool]int64{true: 2, false: 31} {
		store := &late{asked: make(chan struct{}), answer: make(chan struct{})}
		i := open(t, numbers.SegmentConfig{Strict: strict, Step: 10, MinStep: 10, MaxStep: 10}, store)
		first := make(chan int64, 1)
		next := func() {
			n, err := i.Next(context.Background())
			if err != nil {
				t.Error(err)
			}
			first <- n
		}
		if !strict { // 1 to 20 are there
			require.Eventually(t, func() bool { return i.Status().Reservations == 2 }, 30*time.Second, time.Millisecond)
			store.hold.Store(true)
			require.NoError(t, i.NextIDs(t.Context(), make([]int64, 11))) // has 21 to 30 asked for
		} else {
			store.hold.Store(true)
			go next()
		}
		<-store.asked
		i.Reset()
		store.hold.Store(false)
		close(store.answer)
		if !strict {
			next()
		}
		require.Equal(t, want, <-first)
	}
}
