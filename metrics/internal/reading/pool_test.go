package reading_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/metrics/internal/reading"
)

// lister answers as its function does.
type lister func(ctx context.Context) ([]lease.Slot, error)

func (l lister) Slots(ctx context.Context, _ string) ([]lease.Slot, error) { return l(ctx) }

// A count lasts for its time, an error for 5 s, and a canceled collection is nobody else's
// error.
func TestPoolRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls, down := 0, errors.New("down")
		answer := func(context.Context) error { return down }
		p := reading.NewPool(snowlease.Status{Pool: snowlease.Pool{Last: 31}}, lister(func(ctx context.Context) ([]lease.Slot, error) {
			calls++
			return []lease.Slot{{Worker: 1, Expires: 2, Now: 1}, {Worker: 32, Expires: 2, Now: 1}}, answer(ctx)
		}), time.Hour)
		used := func(ctx context.Context, want int, fails error) {
			t.Helper()
			n, err := p.Used(ctx)
			require.ErrorIs(t, err, fails)
			if fails == nil {
				require.Equal(t, want, n)
			}
		}
		used(t.Context(), 0, down)
		answer = func(ctx context.Context) error { return ctx.Err() }
		used(t.Context(), 0, down)
		require.Equal(t, 1, calls, "a center that has just failed is not asked again")
		time.Sleep(5 * time.Second)
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		used(canceled, 0, context.Canceled)
		used(t.Context(), 1, nil)
		require.Equal(t, 3, calls)
		time.Sleep(59 * time.Minute)
		used(t.Context(), 1, nil)
		require.Equal(t, 3, calls, "the count serves for an hour")
		time.Sleep(2 * time.Minute)
		answer = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		began := time.Now()
		used(t.Context(), 0, context.DeadlineExceeded)
		require.Equal(t, 2*time.Second, time.Since(began))
	})
}

// In a new namespace and after a loss, all marks lie ahead of the clock, and no worker id
// is used.
func TestUsed(t *testing.T) {
	const now = 1_000_000
	n, err := reading.NewPool(snowlease.Status{Pool: snowlease.Pool{Size: 8, First: 1, Last: 6}}, lister(func(context.Context) ([]lease.Slot, error) {
		return []lease.Slot{
			{Worker: 0, Now: now, Holder: "outside", Expires: now + 5000, Mark: now + 5000},
			{Worker: 1, Now: now, Holder: "lent", Expires: now + 5000, Mark: now + 5000},
			{Worker: 2, Now: now, Holder: "killed", Expires: now - 1, Mark: now + 5000},
			{Worker: 3, Now: now, Holder: "killed long ago", Expires: now - 5000, Mark: now - 1},
			{Worker: 4, Now: now, Mark: now + 30_000}, // never lent, or given back
			{Worker: 5, Now: now, Mark: now - 1},
		}, nil
	}), 0).Used(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, n)
}
