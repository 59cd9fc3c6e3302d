package keeper_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/keeper"
	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/lease"
)

// damage changes the slot of the rig's grant, as another program may.
func (r *rig) damage(with func(*rules.Slot)) {
	r.center.Change("orders", func(ns rules.Namespace) rules.Namespace {
		slots := append([]rules.Slot(nil), ns.Slots...)
		with(&slots[r.keeper.Status().Grant.Worker])
		ns.Slots = slots
		return ns
	})
}

var in2080 = time.Date(2080, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()

func TestFloorFarAheadIsNotAdopted(t *testing.T) {
	for name, floor := range map[string]func(now int64) int64{
		"decades":       func(int64) int64 { return in2080 },
		"past the skew": func(now int64) int64 { return now + (lease.DefaultTTL + lease.DefaultSkew).Milliseconds() + 15_000 },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.start()
				r.next()
				to := floor(time.Now().UnixMilli())
				r.damage(func(s *rules.Slot) { s.Floor, s.Mark = to, to+60_000 })
				held := r.keeper.Status().Grant
				time.Sleep(15 * time.Second)
				require.LessOrEqual(t, r.next().Time.UnixMilli(), time.Now().UnixMilli())
				st := r.keeper.Status()
				require.Equal(t, held, st.Grant)
				require.ErrorIs(t, st.Err, lease.ErrDamaged)
				require.ErrorContains(t, st.Err, "floor")
				require.Positive(t, st.Failures)
				if to < in2080 {
					r.damage(func(s *rules.Slot) { s.Floor, s.Mark = held.Floor, held.Ceiling })
					time.Sleep(15 * time.Second)
					require.NoError(t, r.keeper.Status().Err, "it goes on by itself")
					require.Equal(t, held.Worker, r.next().Worker)
					return
				}
				time.Sleep(time.Until(time.UnixMilli(held.Ceiling)) + time.Second)
				_, err := r.gen.NextID()
				require.ErrorIs(t, err, generator.ErrLeaseExpired)

				require.NoError(t, r.keeper.Stop(t.Context()))
				require.LessOrEqual(t, r.slot(held.Worker).Mark, held.Ceiling, "giving it back mends the record")
			})
		})
	}
}

// A ceiling beyond what a center lends would be used without the store, and no quarantine
// covers it.
func TestCeilingFarAheadIsCut(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.start()
		r.damage(func(s *rules.Slot) { s.Mark = in2080 })
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

// The center answers the same owner with the same grant, so another one asks next.
func TestBorrowedFloorFarAheadIsNotAdopted(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var bad [16]byte
		r.member(func(cfg *keeper.Config) {
			cfg.Center = &custodian{Center: r.center, answer: func(_ context.Context, g lease.Grant) lease.Grant {
				if bad == [16]byte{} {
					bad = g.Owner
				}
				if bad == g.Owner {
					g.Floor, g.Ceiling = in2080, in2080+30_000
				}
				return g
			}}
		})
		r.start()
		require.LessOrEqual(t, r.next().Time.UnixMilli(), time.Now().UnixMilli())
		require.EqualValues(t, 1, r.keeper.Status().Failures)
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
