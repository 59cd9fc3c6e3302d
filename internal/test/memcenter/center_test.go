package memcenter_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
)

func request() lease.Request {
	return lease.Request{
		Namespace: "orders", Layout: "l", Owner: lease.NewOwner(), Pool: 1,
		TTL: 30 * time.Second, MaxTTL: 30 * time.Second, Skew: 2 * time.Second,
	}
}

// TestClockAtALoss checks that, after a loss, a worker id is lent above all its earlier grants
// exactly if the clock is at most the skew behind the latest time that it ever showed.
func TestClockAtALoss(t *testing.T) {
	t.Parallel()
	skew := request().Skew
	for _, loss := range []struct {
		name string
		of   func(*memcenter.Center)
	}{
		{"wipe", (*memcenter.Center).Wipe},
		{"failover", func(c *memcenter.Center) { c.Reincarnate("1") }},
	} {
		for _, behind := range []time.Duration{0, skew, skew + time.Millisecond, 12 * time.Second} {
			t.Run(fmt.Sprint(loss.name, " ", behind), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					c := memcenter.New()
					require.NoError(t, c.Init(t.Context(), request()))
					stale := c.Snapshot()
					c.Advance(behind) // the clock runs ahead
					g, err := c.Acquire(t.Context(), request())
					require.NoError(t, err)
					c.Advance(-behind) // it is corrected
					stale()
					loss.of(c)

					var q *lease.QuarantineError
					_, err = c.Acquire(t.Context(), request())
					require.ErrorAs(t, err, &q)
					c.Set(q.Until)
					next, err := c.Acquire(t.Context(), request())
					require.NoError(t, err)
					require.Equal(t, behind <= skew, next.Floor >= g.Ceiling, "floor %d, ceiling %d", next.Floor, g.Ceiling)
				})
			})
		}
	}
}
