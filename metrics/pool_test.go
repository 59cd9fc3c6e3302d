package metrics_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
