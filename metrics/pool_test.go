package metrics_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/metrics"
)

// counting is a worker that counts the calls of Slots.
type counting struct {
	*idworker.IdWorker
	calls atomic.Int64
}

func (c *counting) Slots(ctx context.Context, ns string) ([]lease.Slot, error) {
	c.calls.Add(1)
	return c.IdWorker.Slots(ctx, ns)
}

func TestPool(t *testing.T) {
	t.Parallel()
	center := center(t, lease.DefaultSkew, "orders")
	cfg := idworker.Config{Namespace: "orders"}
	w := open(t, cfg, center)
	counted := &counting{IdWorker: w}
	hourly, always := metrics.NewPoolCollector(counted, time.Hour), metrics.NewPoolCollector(w, time.Nanosecond)
	require.EqualValues(t, 1, gather(t, hourly)["idworker_pool_used"])
	open(t, cfg, center)
	require.EqualValues(t, 1, gather(t, hourly)["idworker_pool_used"], "the last count serves for an hour")
	require.EqualValues(t, 1, counted.calls.Load())
	require.EqualValues(t, 2, gather(t, always)["idworker_pool_used"])

	center.Intercept(func(_ context.Context, verb string, _ bool) error {
		if verb == "slots" {
			return errors.New("down")
		}
		return nil
	})
	require.Empty(t, gather(t, always), "no series while the center is away")
	center.Intercept(nil)
	require.EqualValues(t, 2, gather(t, always)["idworker_pool_used"])
}

// A center that hangs delays a scrape but does not block it.
func TestPoolHangs(t *testing.T) {
	t.Parallel()
	center := center(t, lease.DefaultSkew, "orders")
	w := open(t, idworker.Config{Namespace: "orders"}, center)
	center.Intercept(func(ctx context.Context, verb string, _ bool) error {
		if verb == "slots" {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	})
	got := gather(t, metrics.NewPoolCollector(w, 0), metrics.NewCollector(w))
	require.NotContains(t, got, "idworker_pool_used")
	require.EqualValues(t, 1, got["idworker_issuing"])
}

// listed is a worker with a pool, whose slots are those of its function.
type listed struct {
	snowlease.Monitored
	pool  snowlease.Pool
	slots func(ctx context.Context) ([]lease.Slot, error)
}

func (l listed) Status() snowlease.Status { return snowlease.Status{Pool: l.pool} }

func (l listed) Slots(ctx context.Context, _ string) ([]lease.Slot, error) { return l.slots(ctx) }

// A count lasts for its time, and an error for 5 s.
func TestPoolRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls, down := 0, errors.New("down")
		answer := func(context.Context) error { return down }
		c := metrics.NewPoolCollector(listed{pool: snowlease.Pool{Last: 31}, slots: func(ctx context.Context) ([]lease.Slot, error) {
			calls++
			return []lease.Slot{{Worker: 1, Expires: 2, Now: 1}, {Worker: 32, Expires: 2, Now: 1}}, answer(ctx)
		}}, time.Hour)
		used := map[string]float64{"idworker_pool_used": 1}
		require.Empty(t, gather(t, c))
		answer = func(ctx context.Context) error { return ctx.Err() }
		require.Empty(t, gather(t, c))
		require.Equal(t, 1, calls, "a center that has just failed is not asked again")
		time.Sleep(5 * time.Second)
		require.Equal(t, used, gather(t, c))
		time.Sleep(59 * time.Minute)
		require.Equal(t, used, gather(t, c))
		require.Equal(t, 2, calls, "the count serves for an hour")
		time.Sleep(2 * time.Minute)
		answer = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		began := time.Now()
		require.Empty(t, gather(t, c))
		require.Equal(t, 2*time.Second, time.Since(began))
	})
}

// In a new namespace and after a loss, all marks lie ahead of the clock, and no worker id
// is used.
func TestUsed(t *testing.T) {
	t.Parallel()
	const now = 1_000_000
	c := metrics.NewPoolCollector(listed{pool: snowlease.Pool{Size: 8, First: 1, Last: 6}, slots: func(context.Context) ([]lease.Slot, error) {
		return []lease.Slot{
			{Worker: 0, Now: now, Holder: "outside", Expires: now + 5000, Mark: now + 5000},
			{Worker: 1, Now: now, Holder: "lent", Expires: now + 5000, Mark: now + 5000},
			{Worker: 2, Now: now, Holder: "killed", Expires: now - 1, Mark: now + 5000},
			{Worker: 3, Now: now, Holder: "killed long ago", Expires: now - 5000, Mark: now - 1},
			{Worker: 4, Now: now, Mark: now + 30_000}, // never lent, or given back
			{Worker: 5, Now: now, Mark: now - 1},
		}, nil
	}}, 0)
	require.Equal(t, map[string]float64{"idworker_pool_used": 2}, gather(t, c))
}
