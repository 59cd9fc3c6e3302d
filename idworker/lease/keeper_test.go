package lease_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/snowlease/snowlease/idworker/lease"
	"github.com/snowlease/snowlease/idworker/snowflake"
	"github.com/snowlease/snowlease/internal/logtest"
	"github.com/snowlease/snowlease/internal/memcenter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var layout = snowflake.Layout{}.WithDefaults()

// A rig is a keeper with all that it needs, in a bubble of synctest whose clock
// stands in the lifetime of the layout.
type rig struct {
	*testing.T
	center *memcenter.Center
	gen    *snowflake.Generator
	keeper *lease.Keeper
	losses atomic.Int32 // by OnLost
	log    logtest.Journal
	prev   int64
}

func bubble(t *testing.T, f func(t *testing.T, r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)))
		r := &rig{T: t, center: memcenter.New()}
		require.NoError(t, r.center.Init(t.Context(), request()))
		r.member(nil)
		// Also where the test fails, since a bubble cannot end before its goroutines.
		defer func() { _ = r.keeper.Stop(context.Background()) }()
		f(t, r)
	})
}

func request() lease.Request {
	req := lease.NewRequest("orders", layout)
	req.Owner = lease.NewOwner()
	return req
}

// member gives the rig a new generator and keeper.
func (r *rig) member(change func(*lease.KeeperConfig)) {
	r.Helper()
	var err error
	r.gen, err = snowflake.NewGenerator(layout)
	require.NoError(r, err)
	cfg := lease.KeeperConfig{
		Center:    r.center,
		Generator: r.gen,
		Request:   request(),
		OnLost: func(err error) {
			if errors.Is(err, lease.ErrLost) {
				r.losses.Add(1)
			}
		},
		Logger: slog.New(slog.NewTextHandler(&r.log, nil)),
	}
	if change != nil {
		change(&cfg)
	}
	r.keeper, err = lease.NewKeeper(cfg)
	require.NoError(r, err)
}

func (r *rig) start() {
	r.Helper()
	require.NoError(r, r.keeper.Start(r.Context()))
}

// next returns an id, which must be greater than the one before.
func (r *rig) next() snowflake.Parts {
	r.Helper()
	id, err := r.gen.NextID()
	require.NoError(r, err)
	require.Greater(r, id, r.prev)
	r.prev = id
	p, err := layout.Decode(id)
	require.NoError(r, err)
	return p
}

func (r *rig) slot(worker int64) lease.Slot {
	r.Helper()
	slots, err := r.center.Slots(r.Context(), "orders")
	require.NoError(r, err)
	return slots[worker]
}

// down makes every call fail until up is called.
func (r *rig) down() (up func()) {
	r.center.Intercept(func(context.Context, string, bool) error { return errors.New("connection refused") })
	return func() { r.center.Intercept(nil) }
}

func TestKeeperRenewsUntilItStops(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.start()
		for range 100 {
			time.Sleep(7 * time.Second)
			p := r.next()
			require.WithinDuration(t, time.Now(), p.Time, 2*time.Millisecond)
		}
		st := r.keeper.Status()
		require.Equal(t, lease.Holding, st.State)
		require.Zero(t, st.Losses)
		require.NoError(t, st.Err)
		require.Greater(t, st.Renewals, int64(60))
		require.Zero(t, st.Failures)
		last := r.next()

		require.NoError(t, r.keeper.Stop(t.Context()))
		_, err := r.gen.NextID()
		require.ErrorIs(t, err, snowflake.ErrStopped)
		slot := r.slot(last.Worker)
		require.Empty(t, slot.Holder)
		require.Equal(t, last.Time.UnixMilli(), slot.Mark, "the mark is the last use, not the ceiling")
		require.Equal(t, lease.Stopped, r.keeper.Status().State)
		require.NoError(t, r.keeper.Stop(t.Context()), "a second stop does nothing")
		require.Contains(t, r.log.String(), "worker id borrowed")
		require.Contains(t, r.log.String(), "worker id given back")
	})
}

type schedule func(time.Time) time.Time

func (s schedule) Next(t time.Time) time.Time { return s(t) }

func TestScheduleNeverMakesARenewalLate(t *testing.T) {
	for name, s := range map[string]schedule{
		"once a year":        func(t time.Time) time.Time { return t.AddDate(1, 0, 0) },
		"never":              func(time.Time) time.Time { return time.Time{} },
		"in the past":        func(t time.Time) time.Time { return t.Add(-time.Hour) },
		"wall clock stepped": func(t time.Time) time.Time { return t.Add(100 * time.Hour) },
		"every five seconds": func(t time.Time) time.Time { return t.Add(5 * time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.member(func(c *lease.KeeperConfig) { c.Schedule = s })
				renewals := 0
				r.center.Intercept(func(_ context.Context, verb string, after bool) error {
					if verb == "renew" && after {
						renewals++
					}
					return nil
				})
				r.start()
				time.Sleep(300 * time.Second)
				r.next()
				want := 30
				if name == "every five seconds" {
					want = 60
				}
				require.InDelta(t, float64(want)*1.05, renewals, float64(want)*0.06)
			})
		})
	}
}

func TestCenterDownThenUp(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.start()
		up := r.down()
		ceiling := r.keeper.Status().Grant.Ceiling
		time.Sleep(29 * time.Second)
		require.LessOrEqual(t, r.next().Time.UnixMilli(), ceiling, "ids go on to the ceiling")
		time.Sleep(12 * time.Second)
		_, err := r.gen.NextID()
		require.ErrorIs(t, err, snowflake.ErrLeaseExpired)
		st := r.keeper.Status()
		require.ErrorContains(t, st.Err, "connection refused")
		up()
		time.Sleep(2 * time.Second)
		r.next()
		require.Equal(t, lease.Holding, r.keeper.Status().State)
		require.NoError(t, r.keeper.Status().Err)
	})
}

func TestShortOutageCostsNothing(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.start()
		worker := r.next().Worker
		for range 20 {
			up := r.down()
			time.Sleep(15 * time.Second)
			r.next()
			up()
			time.Sleep(15 * time.Second)
			require.Equal(t, worker, r.next().Worker)
		}
		require.Zero(t, r.losses.Load())
	})
}

func TestLostLeaseIsReplacedWhileIdsGoOn(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.start()
		old := r.keeper.Status().Grant
		r.next()
		up := r.down()
		time.Sleep(28*time.Second + 500*time.Millisecond) // within the skew of its expiry: lost, not yet past its ceiling
		up()
		id := r.next()
		require.Equal(t, old.Worker, id.Worker, "the old range is still its own")
		time.Sleep(1200 * time.Millisecond)
		require.EqualValues(t, 1, r.losses.Load())
		st := r.keeper.Status()
		require.Equal(t, 1, st.Losses)
		require.Greater(t, st.Failures, int64(5))
		require.Equal(t, lease.Holding, st.State)
		require.NotEqual(t, old.Worker, r.next().Worker)
		require.NotEqual(t, old.Owner, st.Grant.Owner)
	})
}

func TestWipeUnderLoadPausesNoHolder(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.start()
		worker := r.next().Worker
		for range 300 {
			if r.Context().Err() != nil {
				return
			}
			time.Sleep(time.Second)
			require.Equal(t, worker, r.next().Worker)
			if time.Now().Second() == 30 {
				r.center.Wipe()
			}
		}
		require.Zero(t, r.losses.Load())
	})
}

func TestFullPool(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		one := func(c *lease.KeeperConfig) { c.Request.First, c.Request.Last = 4, 4 }
		r.member(one)
		r.start()
		first := r.keeper
		r.member(one)
		began := time.Now()
		err := r.keeper.Start(t.Context())
		var full *lease.NoFreeWorkerError
		require.ErrorAs(t, err, &full)
		require.Equal(t, int64(4), full.First)
		require.Positive(t, full.Wait())
		require.ErrorContains(t, err, "memory")
		require.LessOrEqual(t, time.Since(began), lease.DefaultWait)

		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		err = r.keeper.Start(ctx) // it may be started again
		require.ErrorAs(t, err, &full)
		require.NoError(t, ctx.Err(), "the error comes before the context ends, or fx drops it")

		go func() {
			time.Sleep(4 * time.Second)
			_ = first.Stop(context.Background())
		}()
		r.start()
		require.Equal(t, int64(4), r.next().Worker)
	})
}

func TestCenterDownAtStart(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		up := r.down()
		err := r.keeper.Start(t.Context())
		require.ErrorContains(t, err, `borrow a worker id of namespace "orders" from memory`)
		require.ErrorContains(t, err, "connection refused")
		_, err = r.gen.NextID()
		require.ErrorIs(t, err, snowflake.ErrNotStarted)
		go func() {
			time.Sleep(5 * time.Second)
			up()
		}()
		r.start()
		r.next()
	})
}

// A centre that hangs until its context ends.
func TestCenterHangsAtStart(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.center.Intercept(func(ctx context.Context, _ string, _ bool) error {
			<-ctx.Done()
			return ctx.Err()
		})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		err := r.keeper.Start(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "memory")
		require.NoError(t, ctx.Err())
	})
}

func TestLostReplyOfABorrowLeaksNoSlot(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		lost := 0
		r.center.Intercept(func(_ context.Context, verb string, after bool) error {
			if verb == "acquire" && after && lost < 3 {
				lost++
				return errors.New("connection reset")
			}
			return nil
		})
		r.start()
		require.Equal(t, 3, lost)
		r.next()
		lent := 0
		for w := range layout.Workers() {
			if r.slot(w).Holder != "" || r.slot(w).Expires > 0 {
				lent++
			}
		}
		require.Equal(t, 1, lent)
	})
}

func TestContextThatEndsDuringABorrowGivesTheSlotBack(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("the app gave up")
		c := &lateCenter{Center: r.center, before: func() { cancel(gone) }}
		r.member(func(cfg *lease.KeeperConfig) { cfg.Center = c })
		err := r.keeper.Start(ctx)
		require.ErrorIs(t, err, gone)
		for w := range layout.Workers() {
			require.True(t, r.slot(w).Free() || r.slot(w).Expires == 0, "worker %d", w)
		}
		_, err = r.gen.NextID()
		require.ErrorIs(t, err, snowflake.ErrNotStarted)
	})
}

// A lateCenter answers a borrow after before was called.
type lateCenter struct {
	lease.Center
	before func()
}

func (c *lateCenter) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	g, err := c.Center.Acquire(context.WithoutCancel(ctx), req)
	c.before()
	return g, err
}

func TestQuarantineAtStart(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.center.Wipe()
		err := r.keeper.Start(t.Context())
		var q *lease.QuarantineError
		require.ErrorAs(t, err, &q, "by default it fails")
		require.Equal(t, lease.Idle, r.keeper.Status().State)

		r.member(func(c *lease.KeeperConfig) { c.StartInQuarantine = true })
		began := time.Now()
		r.start()
		require.Less(t, time.Since(began), time.Second, "there is nothing to wait for")
		st := r.keeper.Status()
		require.Equal(t, lease.Quarantined, st.State)
		require.ErrorAs(t, st.Err, &q)
		_, err = r.gen.NextID()
		require.ErrorIs(t, err, snowflake.ErrNotStarted)
		require.Contains(t, r.log.String(), "quarantine")

		time.Sleep(lease.DefaultTTL + lease.DefaultSkew + 6*time.Second)
		require.Equal(t, lease.Holding, r.keeper.Status().State)
		r.next()
	})
}

func TestQuarantineThatEndsWithinWaitIsWaitedFor(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.center.Wipe()
		require.Error(t, r.keeper.Start(t.Context())) // begins it
		time.Sleep(25 * time.Second)
		r.start()
		r.next()
	})
}

func TestMismatchFailsAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.member(func(c *lease.KeeperConfig) { c.Request.Skew = time.Second })
		began := time.Now()
		err := r.keeper.Start(t.Context())
		var m *lease.MismatchError
		require.ErrorAs(t, err, &m)
		require.Zero(t, time.Since(began))
	})
}

func TestSetupThatCannotWorkFailsAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.center.Intercept(func(context.Context, string, bool) error { return fmt.Errorf("no run_id: %w", lease.ErrSetup) })
		began := time.Now()
		require.ErrorContains(t, r.keeper.Start(t.Context()), "no run_id")
		require.Zero(t, time.Since(began))
	})
}

func TestCentersClockFarOff(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.center.Advance(10 * time.Minute)
		err := r.keeper.Start(t.Context())
		var c *lease.ClockError
		require.ErrorAs(t, err, &c)
		r.center.Advance(-10 * time.Minute)
		r.start()
		r.next()
	})
}

func TestCentersClockStepsWhileHolding(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour, 3 * time.Second, -3 * time.Second} {
		bubble(t, func(t *testing.T, r *rig) {
			r.start()
			for range 60 {
				time.Sleep(time.Second)
				r.next()
			}
			r.center.Advance(step)
			for range 60 {
				time.Sleep(time.Second)
				if id, err := r.gen.NextID(); err == nil {
					require.Greater(t, id, r.prev)
					r.prev = id
				} else {
					require.ErrorIs(t, err, snowflake.ErrLeaseExpired)
				}
			}
			r.center.Advance(-step)
			time.Sleep(time.Minute)
			r.next()
		})
	}
}

func TestStopWhileTheCenterIsDown(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.start()
		r.down()
		began := time.Now()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		err := r.keeper.Stop(ended)
		require.ErrorContains(t, err, "connection refused")
		require.ErrorContains(t, err, "memory")
		require.LessOrEqual(t, time.Since(began), 6*time.Second)
		_, err = r.gen.NextID()
		require.ErrorIs(t, err, snowflake.ErrStopped)
	})
}

func TestReleaseIsTriedAgain(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.start()
		worker := r.next().Worker
		failed := 0
		r.center.Intercept(func(_ context.Context, verb string, after bool) error {
			if verb == "release" && !after && failed < 3 {
				failed++
				return errors.New("connection reset")
			}
			return nil
		})
		ended, cancel := context.WithCancel(t.Context())
		cancel() // as in a shutdown that takes too long
		require.NoError(t, r.keeper.Stop(ended))
		require.Equal(t, 3, failed)
		require.Empty(t, r.slot(worker).Holder)
	})
}

func TestStopDuringARenewal(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.start()
		r.center.Intercept(func(ctx context.Context, verb string, after bool) error {
			if verb == "renew" && after {
				<-ctx.Done()
			}
			return nil
		})
		time.Sleep(lease.DefaultTTL/3 + time.Millisecond) // a renewal is under way
		require.NoError(t, r.keeper.Stop(t.Context()))
		_, err := r.gen.NextID()
		require.ErrorIs(t, err, snowflake.ErrStopped)
	})
}

func TestLifeCycle(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.start()
		require.ErrorContains(t, r.keeper.Start(t.Context()), "starts once")
		r.next()
		require.NoError(t, r.keeper.Stop(t.Context()))
		require.ErrorContains(t, r.keeper.Start(t.Context()), "stopped")

		r.member(nil)
		require.NoError(t, r.keeper.Stop(t.Context()), "stop before start")
		require.Error(t, r.keeper.Start(t.Context()))
	})
}

func TestNewKeeperReportsEveryFault(t *testing.T) {
	_, err := lease.NewKeeper(lease.KeeperConfig{Wait: -1})
	for _, want := range []string{"Center is nil", "Generator is nil", "Wait -1ns", "namespace", "pool 0", "TTL 0s"} {
		require.ErrorContains(t, err, want)
	}
	gen, err := snowflake.NewGenerator(snowflake.Layout{TimeUnit: 10 * time.Second, SequenceBits: 20})
	require.NoError(t, err)
	req := lease.NewRequest("orders", snowflake.Wide())
	_, err = lease.NewKeeper(lease.KeeperConfig{Center: memcenter.New(), Generator: gen, Request: req})
	for _, want := range []string{"is not the generator's", "pool of 1024", "10 time units"} {
		require.ErrorContains(t, err, want)
	}
}

func TestStateNames(t *testing.T) {
	for s, want := range map[lease.State]string{
		lease.Idle: "idle", lease.Borrowing: "borrowing", lease.Quarantined: "quarantined",
		lease.Holding: "holding", lease.Stopped: "stopped", 99: "State(99)",
	} {
		require.Equal(t, want, s.String())
	}
}
