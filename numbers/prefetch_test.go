package numbers_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers"
)

// use takes numbers at a steady rate for a while.
func use(t *testing.T, i *numbers.Segment, perSecond int64, d time.Duration) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Second / time.Duration(perSecond)) {
		next(t, i)
	}
}

// TestStepFollowsTheRate also checks that no caller waits once the size has adapted, as
// long as the store answers within the time of a segment.
func TestStepFollowsTheRate(t *testing.T) {
	bubble(t, func(t *testing.T, s *store) {
		s.slow(700 * time.Millisecond)
		i := open(t, numbers.SegmentConfig{}, s)
		use(t, i, 1000, 30*time.Second)
		require.InDelta(t, 10_000, i.Status().Step, 1000)
		waits, calls := i.Status().Waits, s.calls.Load()
		s.slow(4 * time.Second)
		use(t, i, 1000, 100*time.Second)
		require.Equal(t, waits, i.Status().Waits, "nobody waits for the store")
		require.InDelta(t, 10, s.calls.Load()-calls, 2, "a reservation in 10 s")

		use(t, i, 20, time.Hour)
		require.InDelta(t, 200, i.Status().Step, 20, "it shrinks")
		use(t, i, 2, 10*time.Minute)
		require.InDelta(t, 20, i.Status().Step, 2)
		require.Equal(t, waits, i.Status().Waits)
		time.Sleep(24 * time.Hour)
		require.Equal(t, waits, i.Status().Waits)
		s.slow(300 * time.Millisecond)
		use(t, i, 1000, 30*time.Second)
		require.InDelta(t, 10_000, i.Status().Step, 1000, "it grows again")
	})
}

// An outage of the length of a segment goes unnoticed. A longer one is an error once
// the prefetched numbers are used up, and ends without help.
func TestOutage(t *testing.T) {
	bubble(t, func(t *testing.T, s *store) {
		i := open(t, numbers.SegmentConfig{}, s)
		use(t, i, 100, time.Minute)
		waits := i.Status().Waits
		for range 5 {
			s.down.Store(true)
			use(t, i, 100, 7*time.Second)
			s.down.Store(false)
			use(t, i, 100, 30*time.Second)
		}
		require.Equal(t, waits, i.Status().Waits)
		require.InDelta(t, 1000, i.Status().Step, 100, "attempts that failed did not change the step")

		s.down.Store(true)
		start, lasted := time.Now(), time.Duration(0)
		var err error
		for err == nil {
			lasted = time.Since(start)
			_, err = i.Next(shortly(t, time.Second))
			time.Sleep(10 * time.Millisecond)
		}
		require.Greater(t, lasted, 9*time.Second)
		require.Less(t, lasted, 25*time.Second)
		require.ErrorIs(t, err, numbers.ErrUnavailable)
		require.ErrorIs(t, err, errDown)
		before := time.Now()
		_, err = i.Next(shortly(t, 3*time.Second))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, errDown)
		require.Equal(t, 3*time.Second, time.Since(before))

		go func() {
			time.Sleep(30 * time.Second)
			s.down.Store(false)
		}()
		before = time.Now()
		_, err = i.Next(t.Context())
		require.NoError(t, err)
		require.Less(t, time.Since(before), 34*time.Second, "the store is tried every 2 s or so")
		require.NoError(t, i.Healthy())
		use(t, i, 100, time.Minute)
	})
}

// A call ends with its context, and a store that hangs is asked again.
func TestSlowStore(t *testing.T) {
	bubble(t, func(t *testing.T, s *store) {
		i := open(t, numbers.SegmentConfig{Step: 10, MaxStep: 10}, s)
		synctest.Wait()
		s.slow(200 * time.Millisecond)
		batch(t, i, 20)
		before := time.Now()
		require.Equal(t, int64(21), next(t, i))
		require.Equal(t, 200*time.Millisecond, time.Since(before))

		time.Sleep(time.Second)
		s.slow(6 * time.Second) // more than an answer may take
		batch(t, i, 19)
		before = time.Now()
		_, err := i.Next(shortly(t, 300*time.Millisecond))
		require.ErrorIs(t, err, numbers.ErrUnavailable)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 300*time.Millisecond, time.Since(before))
		time.Sleep(6 * time.Second)
		require.Equal(t, numbers.StateWaiting, i.Status().State)
		s.slow(0)
		n, err := i.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, int64(41), n)
	})
}

func TestOpen(t *testing.T) {
	bubble(t, func(t *testing.T, s *store) {
		s.down.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := numbers.OpenSegment(ctx, s, numbers.SegmentConfig{Namespace: "shop", Name: "orders"})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, errDown)
		require.ErrorContains(t, err, `segment: open "shop/orders"`)

		wrong := fmt.Errorf("wrong password: %w", lease.ErrSetup)
		ctx, cancel = context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err = numbers.OpenSegment(ctx, faulty{wrong}, numbers.SegmentConfig{Namespace: "shop", Name: "orders"})
		require.ErrorIs(t, err, lease.ErrSetup)
		require.NotErrorIs(t, err, context.DeadlineExceeded)

		// A store that cannot be asked ahead shows it at the first number. Later, it may be put right.
		never := open(t, numbers.SegmentConfig{Strict: true}, faulty{wrong})
		_, err = never.Next(context.Background())
		require.ErrorIs(t, err, numbers.ErrUnavailable)
		require.ErrorIs(t, err, lease.ErrSetup)
		once := open(t, numbers.SegmentConfig{Strict: true}, &store{answer: func(call int64, _ numberstore.Request, got numberstore.Range, err error) (numberstore.Range, error) {
			if call > 1 && call < 5 {
				return numberstore.Range{}, wrong
			}
			return got, err
		}})
		require.Equal(t, int64(1), next(t, once))
		n, err := once.Next(ctx)
		require.NoError(t, err)
		require.Equal(t, int64(5), n)

		go func() {
			time.Sleep(5 * time.Second)
			s.down.Store(false)
		}()
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		i, err := numbers.OpenSegment(ctx, s, numbers.SegmentConfig{Namespace: "shop", Name: "orders"})
		require.NoError(t, err)
		cancel() // the issuer outlives the context that it was opened in
		batch(t, i, 1000)
		require.NoError(t, i.Close())
	})
}

// If the store fails, a call in strict order tries again until its context ends.
func TestStrictWaits(t *testing.T) {
	bubble(t, func(t *testing.T, s *store) {
		i := open(t, numbers.SegmentConfig{Strict: true, MaxStep: 4}, s)
		require.Equal(t, []int64{1, 2, 3, 4, 5, 6}, batch(t, i, 6))
		require.Equal(t, int64(2), s.calls.Load())
		s.down.Store(true)
		before := time.Now()
		require.ErrorIs(t, i.NextIDs(shortly(t, 3*time.Second), make([]int64, 2)), context.DeadlineExceeded)
		require.Equal(t, 3*time.Second, time.Since(before))
		go func() {
			time.Sleep(10 * time.Second)
			s.down.Store(false)
		}()
		require.Equal(t, []int64{7}, batch(t, i, 1))

		s.slow(time.Minute)
		before = time.Now()
		_, err := i.Next(shortly(t, time.Second))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(before))
	})
}
