package keeper_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/keeper"
	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// calls returns the times of all calls of a verb.
func (r *rig) calls(verb string) *[]time.Time {
	var at []time.Time
	r.center.Intercept(func(_ context.Context, v string, after bool) error {
		if v == verb && !after {
			at = append(at, time.Now())
		}
		return nil
	})
	return &at
}

// A Keeper that waits for a range ahead of the clock asks repeatedly, so that another
// loss is noticed. With ExactTimes it asks less often. A quarantine is no failure.
func TestQuarantineIsAskedAboutUntilItEnds(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.center.Wipe()
		time.AfterFunc(1200*time.Millisecond, r.center.Wipe)
		began := time.Now()
		asked := r.calls("acquire")
		r.start()
		require.LessOrEqual(t, time.Since(began), 1200*time.Millisecond+lease.DefaultSkew+time.Second, "the second loss begins another wait")
		require.Greater(t, len(*asked), 4)
		require.Less(t, len(*asked), 10)
		require.Zero(t, r.keeper.Status().Failures)
		r.next()
	})
	bubble(t, func(t *testing.T, r *rig) {
		r.start()
		r.center.Reincarnate("2")
		renewed := r.calls("renew")
		for floor := r.keeper.Status().Grant.Floor; r.keeper.Status().Grant.Floor == floor; r.next() {
			time.Sleep(100 * time.Millisecond)
		}
		require.LessOrEqual(t, (*renewed)[len(*renewed)-1].Sub((*renewed)[0]), lease.DefaultSkew+500*time.Millisecond)
		require.Less(t, len(*renewed), 8)
		require.Zero(t, r.keeper.Status().Failures)
	})
	bubble(t, func(t *testing.T, r *rig) {
		r.center.Wipe()
		r.member(func(c *keeper.Config) { c.ExactTimes, c.Wait = true, time.Minute })
		asked := r.calls("acquire")
		r.start()
		require.Less(t, len(*asked), 9)
	})
}

func TestReplicasSpreadAfterAQuarantine(t *testing.T) {
	after := func(jitter func(least, most time.Duration) time.Duration) (at time.Duration) {
		bubble(t, func(t *testing.T, r *rig) {
			r.center.Wipe()
			asked := r.calls("acquire")
			r.member(func(c *keeper.Config) { c.Jitter = jitter })
			r.start()
			at = (*asked)[1].Sub((*asked)[0])
		})
		return at
	}
	first := after(func(least, _ time.Duration) time.Duration { return least })
	last := after(func(_, most time.Duration) time.Duration { return most })
	require.Equal(t, 100*time.Millisecond, last-first)
}

// A range that begins ahead of the clock is short at first. With few ids per
// millisecond, renewals keep ahead of a caller who uses a tenth of them.
func TestShortRangeLastsUntilItsRenewal(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.of("narrow", snowflake.Layout{WorkerBits: 2, SequenceBits: 2}, nil)
		r.start()
		r.next()
		time.Sleep(5 * time.Second) // almost all of it is there for an outage, also if few ids are made
		g := r.keeper.Status().Grant
		require.Greater(t, g.Ceiling, g.Floor+3000)
		for range 5000 {
			time.Sleep(10 * time.Millisecond)
			for range 4 {
				r.next()
			}
		}
	})
}

// When callers have used half of a range, it is renewed immediately, but not sooner than a quarter of
// a second after the last call began, or twice as long as that took, and not while calls fail.
func TestRenewalOnDemand(t *testing.T) {
	for took, pause := range map[time.Duration]time.Duration{5 * time.Millisecond: 250 * time.Millisecond, 200 * time.Millisecond: 400 * time.Millisecond} {
		bubble(t, func(t *testing.T, r *rig) {
			r.of("narrow", snowflake.Layout{SequenceBits: 1, TimeBits: 41}, nil)
			r.start()
			var mu sync.Mutex
			var at []time.Time
			r.center.Intercept(func(_ context.Context, _ string, after bool) error {
				mu.Lock()
				if !after {
					at = append(at, time.Now())
				}
				mu.Unlock()
				time.Sleep(took / 2)
				return nil
			})
			begun := time.Now()
			for r.keeper.Status().Renewals < 20 {
				_, err := r.gen.NextID()
				if err != nil {
					require.ErrorIs(t, err, generator.ErrExhausted)
				}
			}
			mu.Lock()
			calls := slices.Clone(at)
			mu.Unlock()
			for i := 4; i < len(calls); i++ { // before that, the range is short
				require.GreaterOrEqual(t, calls[i].Sub(calls[i-1]), pause)
			}
			require.Less(t, time.Since(begun), 22*pause)
			require.Equal(t, lease.DefaultTTL, r.keeper.Status().Grant.TTL)

			failed := r.keeper.Status().Failures
			r.down()
			begun = time.Now()
			for err := error(nil); err == nil || time.Since(begun) < 20*time.Second; {
				if _, err = r.gen.NextID(); errors.Is(err, generator.ErrLeaseExpired) {
					time.Sleep(time.Millisecond)
				}
			}
			require.Less(t, r.keeper.Status().Failures-failed, int64(15))
			require.Contains(t, r.log.String(), "ids stopped")
		})
	}
}

// The times of ids may run ahead by MaxTTL where they begin there, whatever the TTL is: a lease
// ends TTL above the last id. Its expiry does too, not by the clock.
func TestRangeAheadByALongMaxTTL(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.center.Wipe()
		r.of("narrow", snowflake.Layout{SequenceBits: 1, TimeBits: 41}, func(c *keeper.Config) { c.Request.MaxTTL = 10 * time.Minute })
		r.start()
		for range 12_000 { // two minutes at half of the rate
			for range 10 {
				r.next()
			}
			time.Sleep(10 * time.Millisecond)
		}
		g := r.keeper.Status().Grant
		require.Equal(t, lease.DefaultTTL, g.TTL)
		require.Greater(t, g.Ceiling, g.Floor+70_000)
		require.LessOrEqual(t, g.Ceiling, g.Floor+95_000)
		slots, err := r.center.Slots(t.Context(), r.namespace)
		require.NoError(t, err)
		require.LessOrEqual(t, slots[g.Worker].Expires, slots[g.Worker].HighWater)
	})
}

// After the center's clock has stepped back, the range grows again when it has caught up, and is
// renewed then.
func TestRenewalWhenTheClockHasCaughtUp(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.start()
		time.Sleep(15 * time.Second)
		r.center.Advance(-12 * time.Second)
		renewed := r.calls("renew")
		time.Sleep(20 * time.Second)
		require.NoError(t, r.keeper.Stop(t.Context()))
		require.Greater(t, len(*renewed), 1)
		require.Less(t, (*renewed)[1].Sub((*renewed)[0]), 4*time.Second)
	})
}

// After a total loss, a member with a lower MaxTTL asks first and pins again. Its quarantine
// does not cover the range of a holder under the previous pin, so that holder stops at its next
// renewal. A pin that allows for as much, or a retired one, stops nobody.
func TestHolderStopsBelowALowerPin(t *testing.T) {
	for name, c := range map[string]struct {
		maxTTL, skew time.Duration
		stops        bool
	}{
		"lower max_ttl": {30 * time.Second, lease.DefaultSkew, true},
		"lower skew":    {10 * time.Minute, lease.DefaultSkew / 2, true},
		"higher":        {time.Hour, 10 * time.Second, false},
		"retired":       {10 * time.Minute, lease.DefaultSkew, false},
	} {
		named(t, name, func(t *testing.T, r *rig) {
			r.center.Wipe()
			r.member(func(c *keeper.Config) { c.Request.TTL, c.Request.MaxTTL = 10*time.Minute, 10*time.Minute })
			r.start()
			r.next()
			r.center.Wipe()
			req := request()
			req.TTL, req.MaxTTL, req.Skew = 30*time.Second, c.maxTTL, c.skew
			_, err := r.center.Acquire(t.Context(), req)
			require.ErrorAs(t, err, new(*lease.QuarantineError))
			var renewals atomic.Int64
			r.center.Intercept(func(_ context.Context, verb string, after bool) error {
				if verb != "renew" || after {
					return nil
				}
				renewals.Add(1)
				if name == "retired" {
					return &lease.MismatchError{Namespace: "orders", Stored: lease.Pin{Retired: true, Reason: "moved"}, Asked: req.Pin()}
				}
				return nil
			})
			for renewals.Load() == 0 {
				r.next()
				time.Sleep(time.Second)
			}
			synctest.Wait()
			_, err = r.gen.NextID()
			if !c.stops {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			require.EqualValues(t, 1, r.keeper.Status().Losses)
		})
	}
}

// The times of another process stop nobody, also not when it has gone and when records are lost.
// They are lent once a loss allows for them, and the namespace forgets them when nobody needs them.
func TestTimesOfOthersStopNobody(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var log strings.Builder
		r.member(func(c *keeper.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		r.start()
		first := r.keeper
		goOn := func(d time.Duration) {
			t.Helper()
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Second) {
				r.next()
				require.Zero(t, first.Status().Failures)
				require.Zero(t, first.Status().Losses)
			}
		}
		gen := r.gen
		r.member(func(c *keeper.Config) { c.Request.TTL, c.Request.MaxTTL = 5*time.Minute, 5*time.Minute })
		second := r.keeper
		r.start()
		require.LessOrEqual(t, second.Status().Grant.Ceiling, time.Now().Add(lease.DefaultTTL).UnixMilli())
		r.gen = gen
		goOn(2 * time.Minute)
		require.Greater(t, second.Status().Grant.Ceiling, time.Now().Add(4*time.Minute).UnixMilli())
		require.Equal(t, 1, strings.Count(log.String(), "the namespace has a greater max_ttl or skew than this process"))
		require.Contains(t, log.String(), "max_ttl=5m0s skew=2s own_max_ttl=30s")

		r.center.Reincarnate("2")
		goOn(2 * time.Minute)
		require.NoError(t, second.Stop(t.Context()))
		goOn(5 * time.Minute) // the clock has caught up
		r.member(nil)
		third := r.keeper
		r.start()
		r.gen = gen
		goOn(6 * time.Minute)
		require.Equal(t, request().Pin(), first.Status().Grant.Pinned)
		require.NoError(t, third.Stop(t.Context()))
		r.keeper = first
	})
}

// A loss makes all members wait for the greatest skew. The leases of those with less are as much
// longer until that has fallen, so their ids go on.
func TestSkewOfOthersStopsNobody(t *testing.T) {
	for leaves := -75; leaves <= 14*60; leaves += 75 { // seconds from the loss to the end of the other; below 0: it stays
		bubble(t, func(t *testing.T, r *rig) {
			r.start()
			first, goOn := r.goingOn()
			defer func() { _ = first.Stop(context.Background()) }()
			r.member(greaterTimes)
			r.start()
			goOn(time.Minute)
			if leaves >= 0 {
				require.NoError(t, r.keeper.Stop(t.Context()))
				r.member(nil)
				r.start() // and lets the values fall
				goOn(time.Duration(leaves) * time.Second)
			}
			r.center.Reincarnate("2")
			if leaves%2 != 0 && leaves < 6*60 { // later, slots still show the greater skew
				r.center.Change(r.namespace, rules.Namespace.WithoutMeta)
			}
			goOn(5 * time.Minute)
		})
	}
}

func greaterTimes(c *keeper.Config) {
	c.Request.TTL, c.Request.MaxTTL, c.Request.Skew = 4*time.Minute, 4*time.Minute, 2*time.Minute
}

// goingOn returns the keeper of the rig and a function that takes its ids for a while.
func (r *rig) goingOn() (first *keeper.Keeper, goOn func(time.Duration)) {
	gen, first := r.gen, r.keeper
	return first, func(d time.Duration) {
		r.Helper()
		r.gen = gen
		for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Second) {
			r.next()
			require.Zero(r, first.Status().Losses, "%s", r.log.String())
		}
	}
}

// A loss soon after a raise counts by values that nobody uses yet, so the ids of others may pause: until
// the raise is used, or for the greater skew, less what was left of their leases. They go on by
// themselves, also if the leases are lost.
func TestPauseAfterARaise(t *testing.T) {
	const (
		former = lease.DefaultTTL + lease.DefaultSkew
		left   = lease.DefaultTTL - 10*time.Second // when a renewal notices the loss
		every  = 500 * time.Millisecond
	)
	for name, c := range map[string]struct {
		greater func(*keeper.Config)
		most    time.Duration
	}{
		"max_ttl": {func(c *keeper.Config) { c.Request.MaxTTL = time.Hour }, former + 3*time.Second - left},
		"skew":    {greaterTimes, 2*time.Minute + 2*time.Second - left},
	} {
		longest := time.Duration(0)
		for _, lose := range []func(rules.Namespace) rules.Namespace{nil, rules.Namespace.WithoutOwners, rules.Namespace.WithoutMeta} {
			for after := time.Duration(0); after <= former+10*time.Second; after += 7 * time.Second {
				bubble(t, func(t *testing.T, r *rig) {
					r.start()
					first, goOn := r.goingOn()
					defer func() { _ = first.Stop(context.Background()) }()
					r.member(c.greater)
					r.start()
					require.NoError(t, r.keeper.Stop(t.Context()))
					goOn(after)
					r.center.Reincarnate("2")
					if lose != nil {
						r.center.Change(r.namespace, lose)
					}
					for end, last := time.Now().Add(3*time.Minute), time.Now(); time.Now().Before(end); time.Sleep(every) {
						if _, err := r.gen.NextID(); err == nil {
							longest, last = max(longest, time.Since(last)), time.Now()
						}
						require.LessOrEqual(t, time.Since(last), c.most+every, "%s, %v after the raise: %v", name, after, first.Status().Err)
					}
				})
			}
		}
		require.Greater(t, longest, time.Second, "%s: the pause that protocol.md explains", name)
	}
}
