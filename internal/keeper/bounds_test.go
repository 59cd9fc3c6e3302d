package keeper_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/lease"
)

// change changes the slots of the namespace.
func (r *rig) change(with func(slots []rules.Slot)) {
	r.center.Change("orders", func(ns rules.Namespace) rules.Namespace {
		ns.Slots = append([]rules.Slot(nil), ns.Slots...)
		with(ns.Slots)
		return ns
	})
}

var in2080 = time.Date(2080, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()

// A ceiling beyond what a center lends would be used without the store, and no quarantine
// covers it.
func TestCeilingFarAheadIsCut(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.start()
		r.change(func(slots []rules.Slot) { slots[r.keeper.Status().Grant.Worker].Mark = in2080 })
		time.Sleep(15 * time.Second)
		r.next()
		st := r.keeper.Status()
		require.NoError(t, st.Err)
		require.LessOrEqual(t, st.Grant.Ceiling, st.Grant.Now+lease.DefaultTTL.Milliseconds())
		require.GreaterOrEqual(t, st.Grant.Ceiling, time.Now().UnixMilli()+lease.DefaultTTL.Milliseconds()/2)
		r.down()
		time.Sleep(time.Minute)
		_, err := r.gen.NextID()
		require.ErrorIs(t, err, generator.ErrLeaseExpired)
	})
}

// The center lends another range of the same worker id, the answer is lost, and its clock is
// set back: that range lies far ahead of the clock, but not of what the clock has shown.
func TestRangeAboveALossWhileTheClockIsSetBack(t *testing.T) {
	for _, back := range []time.Duration{lease.DefaultSkew, 10 * time.Second, time.Hour} {
		bubble(t, func(t *testing.T, r *rig) {
			r.start()
			r.next()
			first := r.keeper.Status().Grant
			r.center.Reincarnate("2")
			var lost atomic.Bool
			r.center.Intercept(func(_ context.Context, verb string, after bool) error {
				if verb == "renew" && after && !lost.Load() {
					lost.Store(r.center.Records("orders").Slots[first.Worker].Floor != first.Floor)
					if lost.Load() {
						r.center.Advance(-back)
						return errors.New("connection reset")
					}
				}
				return nil
			})
			time.Sleep(25 * time.Second)
			require.True(t, lost.Load())
			st := r.keeper.Status()
			require.NoError(t, st.Err, back)
			require.Greater(t, st.Grant.Floor, first.Floor)
			r.next()
			require.Zero(t, r.losses.Load())
		})
	}
}
