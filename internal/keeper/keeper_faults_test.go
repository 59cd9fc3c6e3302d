package keeper_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/keeper"
	"github.com/snowlease/snowlease/internal/rules"
)

// expire ends the lease of a holder but keeps its mark, as a failover to a stale
// replica could.
func (r *rig) expire(worker int64) { r.change(func(slots []rules.Slot) { slots[worker].Expires = 1 }) }

// extend makes the leases of all holders run for a day.
func (r *rig) extend() {
	r.change(func(slots []rules.Slot) {
		for i := range slots {
			if slots[i].Expires > 0 {
				slots[i].Expires += (24 * time.Hour).Milliseconds()
			}
		}
	})
}

// lent counts the running leases.
func (r *rig) lent() (n int) {
	slots, err := r.center.Slots(r.Context(), "orders")
	require.NoError(r, err)
	for _, s := range slots {
		if s.Expires > time.Now().UnixMilli() {
			n++
		}
	}
	return n
}

func TestLostLeaseIsUsedUpWhereNoOtherIsFree(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.member(func(c *keeper.Config) { c.Request.First, c.Request.Last = 4, 4 })
		first := r.start()
		r.expire(4)
		time.Sleep(15 * time.Second)
		require.EqualValues(t, 1, r.losses.Load())
		require.Equal(t, keeper.Borrowing, r.keeper.Status().State)
		r.next()
		time.Sleep(time.Until(time.UnixMilli(first.Ceiling)))
		require.LessOrEqual(t, r.next().Time.UnixMilli(), first.Ceiling)
		require.EqualValues(t, 1, r.losses.Load(), "what is lost is not renewed")

		time.Sleep(6 * time.Second)
		require.Greater(t, r.next().Time.UnixMilli(), first.Ceiling, "lent anew, above all that was used")
	})
}

func TestLostReplyOfABorrowLeaksNoSlot(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var lost atomic.Int32
		r.center.Intercept(func(_ context.Context, verb string, after bool) error {
			if verb == "acquire" && after && lost.Load() < 3 {
				lost.Add(1)
				return errors.New("connection reset")
			}
			return nil
		})
		r.start()
		for range 2 { // at the start, and after a loss
			require.Equal(t, int32(3), lost.Load())
			require.Equal(t, keeper.Holding, r.keeper.Status().State)
			require.Equal(t, 1, r.lent())
			r.next()
			lost.Store(0)
			r.expire(r.keeper.Status().Grant.Worker)
			time.Sleep(20 * time.Second)
		}
	})
}

// Slow calls make the time of ids slightly early, never late.
func TestSlowCenterSetsNoClockAhead(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.center.Intercept(func(_ context.Context, verb string, after bool) error {
			if verb == "acquire" || verb == "renew" {
				time.Sleep(700 * time.Millisecond)
			}
			return nil
		})
		r.start()
		for range 30 {
			id := r.next().Time
			require.False(t, id.After(time.Now()), "ahead by %v", time.Until(id))
			require.WithinDuration(t, time.Now(), id, 2*time.Second)
			time.Sleep(time.Second)
		}
		require.Zero(t, r.losses.Load())
	})
}

func TestCenterHangsDuringARenewal(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.start()
		hung := 0
		r.center.Intercept(func(ctx context.Context, verb string, after bool) error {
			if verb == "renew" && !after && hung < 3 {
				hung++
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		})
		for range 60 {
			time.Sleep(time.Second)
			r.next()
		}
		require.Equal(t, 3, hung)
		require.Zero(t, r.losses.Load())
	})
}
