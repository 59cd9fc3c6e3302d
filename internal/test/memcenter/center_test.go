package memcenter_test

import (
	"context"
	"errors"
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

func TestHooks(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := memcenter.New()
	req := request()
	require.NoError(t, c.Init(ctx, req))
	down := errors.New("connection refused")
	fail := func(verb string, after bool) {
		c.Intercept(func(_ context.Context, v string, a bool) error {
			if v == verb && a == after {
				return down
			}
			return nil
		})
	}

	fail("acquire", false)
	_, err := c.Acquire(ctx, req)
	require.ErrorIs(t, err, down)
	slots, err := c.Slots(ctx, req.Namespace)
	require.NoError(t, err)
	require.True(t, slots[0].Free(), "not carried out")

	fail("acquire", true)
	g, err := c.Acquire(ctx, req)
	require.ErrorIs(t, err, down)
	require.Zero(t, g)
	slots, err = c.Slots(ctx, req.Namespace)
	require.NoError(t, err)
	require.False(t, slots[0].Free(), "carried out, and the reply lost")

	c.Intercept(nil)
	g, err = c.Acquire(ctx, req)
	require.NoError(t, err)
	require.Equal(t, slots[0].Token, g.Token)

	fail("release", true)
	require.ErrorIs(t, c.Release(ctx, g, g.Floor), down)
	c.Intercept(nil)
	require.ErrorIs(t, c.Release(ctx, g, g.Floor), lease.ErrLost, "done already")
}

func TestDelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := memcenter.New()
		require.NoError(t, c.Init(t.Context(), request()))
		c.Intercept(func(ctx context.Context, _ string, after bool) error {
			if after {
				time.Sleep(3 * time.Second)
			}
			return nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		req := request()
		_, err := c.Acquire(ctx, req)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		g, err := c.Acquire(t.Context(), req)
		require.NoError(t, err)
		require.EqualValues(t, 3000, g.Now-g.Since, "lent by the call whose reply came too late")
	})
}

// TestClock checks that the clock is time.Now, also within a bubble, and continues
// from the time it is set to.
func TestClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := memcenter.New()
		require.Equal(t, time.Now().UnixMilli(), c.Now().UnixMilli())
		c.Advance(time.Hour)
		require.Equal(t, time.Hour, time.Until(c.Now()))
		at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
		c.Set(at)
		time.Sleep(time.Minute)
		require.Equal(t, at.Add(time.Minute), c.Now().UTC())
		c.Advance(-2 * time.Minute)
		require.Equal(t, at.Add(-time.Minute), c.Now().UTC())

		c = memcenter.New()
		require.NoError(t, c.Init(t.Context(), request()))
		g, err := c.Acquire(t.Context(), request())
		require.NoError(t, err)
		time.Sleep(30 * time.Second)
		_, err = c.Acquire(t.Context(), request())
		full := (*lease.NoFreeWorkerError)(nil)
		require.ErrorAs(t, err, &full)
		require.Equal(t, time.Millisecond, full.Wait())
		time.Sleep(full.Wait())
		_, err = c.Acquire(t.Context(), request())
		require.NoError(t, err)
		_, err = c.Renew(t.Context(), g)
		require.ErrorIs(t, err, lease.ErrLost)
	})
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
