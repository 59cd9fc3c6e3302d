package keeper_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/keeper"
	"github.com/snowlease/snowlease/internal/test/logtest"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var layout = snowflake.Layout{}.WithDefaults()

// A rig is a Keeper with everything it needs, in a synctest bubble whose clock lies
// within the lifetime of the layout.
type rig struct {
	*testing.T
	center *memcenter.Center
	gen    *generator.Generator
	keeper *keeper.Keeper
	losses atomic.Int32 // by OnLost
	log    logtest.Journal
	prev   int64

	// Of the next member.
	namespace string
	layout    snowflake.Layout
	clock     []generator.Option
}

func bubble(t *testing.T, f func(t *testing.T, r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)))
		r := &rig{T: t, center: memcenter.New(), namespace: "orders", layout: layout}
		require.NoError(t, r.center.Init(t.Context(), request()))
		r.member(nil)
		// Also if the test fails, since a bubble cannot end before its goroutines.
		defer func() { _ = r.keeper.Stop(context.Background()) }()
		f(t, r)
	})
}

// named is a bubble in a subtest.
func named(t *testing.T, name string, f func(t *testing.T, r *rig)) {
	t.Run(name, func(t *testing.T) { bubble(t, f) })
}

func request() lease.Request {
	req := memcenter.NewRequest("orders", layout)
	req.Owner = lease.NewOwner()
	return req
}

// member gives the rig a new generator and keeper.
func (r *rig) member(change func(*keeper.Config)) {
	r.Helper()
	r.gen = generator.New(r.layout, r.clock...)
	cfg := keeper.Config{
		Center:    r.center,
		Generator: r.gen,
		Request:   memcenter.NewRequest(r.namespace, r.layout),
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
	r.keeper = keeper.New(cfg)
}

// of gives the rig a member of a namespace with another layout.
func (r *rig) of(namespace string, l snowflake.Layout, change func(*keeper.Config)) {
	r.Helper()
	r.namespace, r.layout = namespace, l.WithDefaults()
	r.member(change)
}

// stepping gives the rig a member whose generator has a clock that look may step at each look.
func (r *rig) stepping(look func() time.Duration) {
	r.Helper()
	began := time.Now()
	r.clock = []generator.Option{generator.WithClock(func() time.Duration { return time.Since(began) + look() })}
	r.member(nil)
}

func (r *rig) start() lease.Grant {
	r.Helper()
	require.NoError(r, r.keeper.Start(r.Context()))
	return r.keeper.Status().Grant
}

// next returns an id, which must be greater than the one before.
func (r *rig) next() snowflake.Parts {
	r.Helper()
	id, err := r.gen.NextID()
	require.NoError(r, err)
	require.Greater(r, id, r.prev)
	r.prev = id
	p, err := r.layout.Decode(id)
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
	r.center.Intercept(func(context.Context, string, bool) error { return errRefused })
	return func() { r.center.Intercept(nil) }
}

func TestKeeperRenewsUntilItStops(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancel(t.Context())
		require.NoError(t, r.keeper.Start(ctx))
		cancel() // it outlives the context of its start
		for range 100 {
			time.Sleep(7 * time.Second)
			p := r.next()
			require.WithinDuration(t, time.Now(), p.Time, 2*time.Millisecond)
		}
		st := r.keeper.Status()
		require.Equal(t, keeper.Holding, st.State)
		require.Zero(t, st.Losses)
		require.NoError(t, st.Err)
		require.Greater(t, st.Renewals, int64(60))
		require.Zero(t, st.Failures)
		last := r.next()

		require.NoError(t, r.keeper.Stop(t.Context()))
		_, err := r.gen.NextID()
		require.ErrorIs(t, err, generator.ErrClosed)
		slot := r.slot(last.Worker)
		require.Empty(t, slot.Holder)
		require.Equal(t, last.Time.UnixMilli(), slot.HighWater, "the mark is the last use, not the ceiling")
		require.Equal(t, keeper.Stopped, r.keeper.Status().State)
		require.NoError(t, r.keeper.Stop(t.Context()), "a second stop does nothing")
		require.Contains(t, r.log.String(), "worker id borrowed")
		require.Contains(t, r.log.String(), "worker id released")
	})
}

// An outage finds nearly all of a long lease left, without a schedule too.
func TestLongLeasesAreRenewedOften(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		const ttl = 6 * time.Minute
		r.of("long", layout, func(c *keeper.Config) { c.Request.TTL, c.Request.MaxTTL = ttl, ttl })
		n := r.renewals()
		r.start()
		time.Sleep(20 * ttl)
		require.GreaterOrEqual(t, n.Load(), int64(20*ttl/(10*time.Second)))
	})
}

type schedule func(time.Time) time.Time

func (s schedule) Next(t time.Time) time.Time { return s(t) }

// renewals counts the successful renewals.
func (r *rig) renewals() *atomic.Int64 {
	var n atomic.Int64
	r.center.Intercept(func(_ context.Context, verb string, after bool) error {
		if verb == "renew" && after {
			n.Add(1)
		}
		return nil
	})
	return &n
}

func TestScheduleNeverMakesARenewalLate(t *testing.T) {
	for name, s := range map[string]schedule{
		"once a year":        func(t time.Time) time.Time { return t.AddDate(1, 0, 0) },
		"never":              func(time.Time) time.Time { return time.Time{} },
		"in the past":        func(t time.Time) time.Time { return t.Add(-time.Hour) },
		"wall clock stepped": func(t time.Time) time.Time { return t.Add(100 * time.Hour) },
		"every five seconds": func(t time.Time) time.Time { return t.Add(5 * time.Second) },
	} {
		named(t, name, func(t *testing.T, r *rig) {
			r.member(func(c *keeper.Config) { c.Schedule = s })
			renewals := r.renewals()
			r.start()
			time.Sleep(300 * time.Second)
			r.next()
			if name == "every five seconds" {
				require.InDelta(t, 60, renewals.Load(), 1)
				return
			}
			require.InDelta(t, 30*1.05, renewals.Load(), 30*0.06)
		})
	}
}

// Each point of a cron schedule gets one renewal, whatever the jitter.
func TestEachPointOfAScheduleIsOneRenewal(t *testing.T) {
	for _, spec := range []string{
		"* * * * * *", "*/2 * * * * *", "*/5 * * * * *", "3-59/7 * * * * *", "*/10 * * * * *",
		"@every 1s", "@every 3s", "@every 10s",
	} {
		t.Run(spec, func(t *testing.T) {
			s, err := cron.NewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor).Parse(spec)
			require.NoError(t, err)
			for range 5 { // a keeper's jitter is chosen once
				bubble(t, func(t *testing.T, r *rig) {
					r.member(func(c *keeper.Config) { c.Schedule = s })
					renewals := r.renewals()
					time.Sleep(1234 * time.Millisecond)
					r.start()
					began, points := time.Now(), 0
					for p := s.Next(began); p.Sub(began) <= 5*time.Minute; p = s.Next(p) {
						points++
					}
					time.Sleep(5 * time.Minute)
					require.InDelta(t, points, renewals.Load(), 1) // at the ends
				})
			}
		})
	}
}

// Replicas renew at different times before a point of the schedule.
func TestReplicasSpreadAroundASchedule(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		s, err := cron.ParseStandard("@every 5s")
		require.NoError(t, err)
		at := map[time.Duration]bool{}
		for range 20 {
			r.member(func(c *keeper.Config) { c.Schedule = s })
			r.start()
			time.Sleep(17 * time.Second)
			before := 5*time.Second - r.keeper.Status().Renewed.Sub(time.Now().Truncate(time.Minute))%(5*time.Second)
			require.LessOrEqual(t, before, lease.DefaultTTL/3/10)
			at[before] = true
			require.NoError(t, r.keeper.Stop(t.Context()))
			time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)))
		}
		require.Greater(t, len(at), 10)
	})
}

func TestLostLeaseIsReplacedWhileIdsGoOn(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		old := r.start()
		r.next()
		up := r.down()
		time.Sleep(28*time.Second + 500*time.Millisecond) // within the skew of its expiry: lost, not yet past its ceiling
		up()
		id := r.next()
		require.Equal(t, old.Worker, id.Worker, "the old range is still its own")
		time.Sleep(2600 * time.Millisecond)
		require.EqualValues(t, 1, r.losses.Load())
		st := r.keeper.Status()
		require.EqualValues(t, 1, st.Losses)
		require.Greater(t, st.Failures, int64(5))
		require.Equal(t, keeper.Holding, st.State)
		require.NotEqual(t, old.Worker, r.next().Worker)
		require.NotEqual(t, old.Owner, st.Grant.Owner)
		require.Equal(t, 1, strings.Count(r.log.String(), "former_worker"))
		require.Contains(t, r.log.String(), fmt.Sprintf("former_worker=%d\n", old.Worker), "the log names it, as it is another one")
	})
}

// lead returns how far the next id is ahead of the clock.
func (r *rig) lead() time.Duration {
	r.Helper()
	return time.Until(r.next().Time)
}

// A recorded holder continues above a loss, even if the store fails over again before
// all replies have arrived. Its ids follow the clock again once it has caught up.
func TestFailoverPausesNoHolder(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.member(func(c *keeper.Config) { c.Jitter = func(least, _ time.Duration) time.Duration { return least } })
		r.start()
		r.next()
		worker, lost := r.next().Worker, 0
		r.center.Intercept(func(_ context.Context, verb string, after bool) error {
			if verb == "renew" && after && lost < 2 {
				lost++
				return errors.New("connection reset")
			}
			return nil
		})
		r.center.Reincarnate("2")
		time.Sleep(500 * time.Millisecond)
		r.center.Reincarnate("3")
		above := time.Duration(0)
		for range 1000 {
			time.Sleep(20 * time.Millisecond)
			above = max(above, r.lead())
		}
		require.InDelta(t, lease.DefaultTTL+lease.DefaultSkew, above, float64(15*time.Second))
		require.Equal(t, 2, lost)
		for range 3000 {
			time.Sleep(20 * time.Millisecond)
			require.Equal(t, worker, r.next().Worker)
		}
		require.LessOrEqual(t, r.lead(), 2*time.Millisecond)
		require.Zero(t, r.losses.Load())
		require.Equal(t, 1, strings.Count(r.log.String(), "ids continue above them"))
		require.Less(t, r.keeper.Status().Renewals, int64(40), "renewals are frequent at first only")
	})
}

func TestFullPool(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		one := func(c *keeper.Config) { c.Request.First, c.Request.Last = 4, 4 }
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
		require.LessOrEqual(t, time.Since(began), keeper.DefaultWait)

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

// A start that ends while a call hangs tells what the calls before it met.
func TestCenterHangsAtStart(t *testing.T) {
	for refused, want := range []error{context.DeadlineExceeded, errRefused} {
		bubble(t, func(t *testing.T, r *rig) {
			calls := 0
			r.center.Intercept(func(ctx context.Context, _ string, _ bool) error {
				if calls++; calls <= refused {
					return errRefused
				}
				<-ctx.Done()
				return ctx.Err()
			})
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			began := time.Now()
			err := r.keeper.Start(ctx)
			require.ErrorIs(t, err, want)
			require.ErrorContains(t, err, "memory")
			require.Less(t, time.Since(began), 2900*time.Millisecond, "before its context ends")
			require.Greater(t, calls, refused)
		})
	}
}

// A start goes on after a call that hangs, as on a dead connection, and does not give up one
// that takes up to half of its time. However long the start may take, a call ends after 10 s.
func TestFirstCallOfAStartTakesHalfOfItsTime(t *testing.T) {
	for _, tt := range []struct{ wait, takes, within time.Duration }{
		{keeper.DefaultWait, 4900 * time.Millisecond, 4900 * time.Millisecond},
		{keeper.DefaultWait, time.Hour, 6 * time.Second},
		{time.Minute, time.Hour, 11 * time.Second},
	} {
		bubble(t, func(t *testing.T, r *rig) {
			r.member(func(c *keeper.Config) { c.Wait = tt.wait })
			calls := 0
			r.center.Intercept(func(ctx context.Context, verb string, after bool) error {
				if verb == "acquire" && !after {
					if calls++; calls == 1 {
						sleepWithin(ctx, tt.takes)
					}
				}
				return ctx.Err()
			})
			for _, call := range []func(context.Context) error{r.keeper.Start, r.keeper.Reset} {
				calls = 0
				began := time.Now()
				require.NoError(t, call(t.Context()))
				require.LessOrEqual(t, time.Since(began), tt.within)
				require.Equal(t, tt.takes > tt.within, calls > 1)
				r.next()
			}
		})
	}
}

func sleepWithin(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func TestContextThatEndsDuringABorrowGivesTheSlotBack(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("the app gave up")
		c := &lateCenter{Center: r.center, before: func() { cancel(gone) }}
		r.member(func(cfg *keeper.Config) { cfg.Center = c })
		err := r.keeper.Start(ctx)
		require.ErrorIs(t, err, gone)
		for w := range layout.Workers() {
			require.True(t, r.slot(w).Free() || r.slot(w).Expires == 0, "worker %d", w)
		}
		_, err = r.gen.NextID()
		require.ErrorIs(t, err, generator.ErrNotStarted)
	})
}

// A lateCenter calls before, then answers a borrow.
type lateCenter struct {
	lease.Center
	before func()
}

func (c *lateCenter) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	g, err := c.Center.Acquire(context.WithoutCancel(ctx), req)
	c.before()
	return g, err
}

func TestStartAfterALoss(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.center.Wipe()
		began := time.Now()
		r.start()
		require.LessOrEqual(t, time.Since(began), lease.DefaultSkew+500*time.Millisecond)
		require.Greater(t, r.lead(), lease.DefaultTTL-time.Second, "above all that may have been forgotten")
		for range 30_000 {
			r.next()
		}
		for range 4000 {
			time.Sleep(10 * time.Millisecond)
			require.LessOrEqual(t, r.lead(), lease.DefaultTTL)
		}
		require.LessOrEqual(t, r.lead(), 2*time.Millisecond, "the clock has caught up")
	})
}

// The shortest range is at least a whole tick, whatever the layout.
func TestStartAfterALossWithCoarseTicks(t *testing.T) {
	for _, unit := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 700 * time.Millisecond, 3 * time.Second} {
		bubble(t, func(t *testing.T, r *rig) {
			r.of("coarse", snowflake.Layout{TimeUnit: unit, TimeBits: 38}, func(c *keeper.Config) { c.Wait = 20 * time.Second })
			began := time.Now()
			r.start()
			require.LessOrEqual(t, time.Since(began), lease.DefaultSkew+max(500*time.Millisecond, 3*unit+time.Second/5))
			for range 500 {
				time.Sleep(100 * time.Millisecond)
				r.next()
			}
		})
	}
}

func TestExactTimes(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.center.Wipe()
		began := time.Now()
		r.member(func(c *keeper.Config) { c.ExactTimes = true })
		err := r.keeper.Start(t.Context())
		var q *lease.QuarantineError
		require.ErrorAs(t, err, &q)
		require.Zero(t, time.Since(began), "it outlasts Wait")
		require.Equal(t, keeper.Idle, r.keeper.Status().State)

		time.Sleep(25 * time.Second)
		r.start()
		require.Less(t, r.lead(), time.Millisecond)

		r.center.Reincarnate("2") // a holder waits too once its range is used up
		time.Sleep(lease.DefaultTTL + time.Second)
		_, err = r.gen.NextID()
		require.ErrorIs(t, err, generator.ErrLeaseExpired)
		require.Equal(t, keeper.Quarantined, r.keeper.Status().State)
		time.Sleep(lease.DefaultTTL / 2)
		require.Less(t, r.lead(), time.Millisecond)
	})
}

func TestSetupThatCannotWorkFailsAtOnce(t *testing.T) {
	for _, fault := range []error{fmt.Errorf("no run_id: %w", lease.ErrSetup), &lease.MismatchError{Namespace: "orders"}} {
		bubble(t, func(t *testing.T, r *rig) {
			r.center.Intercept(func(context.Context, string, bool) error { return fault })
			began := time.Now()
			require.ErrorIs(t, r.keeper.Start(t.Context()), fault)
			require.Zero(t, time.Since(began))
		})
	}
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
					require.ErrorIs(t, err, generator.ErrLeaseExpired)
				}
			}
			r.center.Advance(-step)
			time.Sleep(time.Minute)
			r.next()
		})
	}
}

// A release is tried again. Nothing is issued any more when it begins.
func TestReleaseIsTriedAgain(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.start()
		worker := r.next().Worker
		failed := 0
		r.center.Intercept(func(_ context.Context, verb string, after bool) error {
			if verb == "release" && !after && failed < 3 {
				failed++
				_, err := r.gen.NextID()
				require.ErrorIs(t, err, generator.ErrClosed, "the generator stops first")
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

// freeze makes the verbs, or all of them, hang until their contexts end, either after
// they are carried out or before.
func (r *rig) freeze(after bool, verbs ...string) {
	r.center.Intercept(func(ctx context.Context, verb string, isAfter bool) error {
		if isAfter == after && (len(verbs) == 0 || slices.Contains(verbs, verb)) {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	})
}

// A Stop takes no longer than its own attempts to give back, whatever else is under way
// at a store that hangs.
func TestStopBesideAnythingOnAFrozenStore(t *testing.T) {
	for name, begin := range map[string]func(t *testing.T, r *rig, running func(func() error)){
		"a start": func(_ *testing.T, r *rig, running func(func() error)) {
			r.freeze(false)
			running(func() error { return r.keeper.Start(r.Context()) })
		},
		"a reset": func(_ *testing.T, r *rig, running func(func() error)) {
			r.start()
			r.freeze(false)
			running(func() error { return r.keeper.Reset(r.Context()) })
		},
		"a reset whose borrow is never answered": func(_ *testing.T, r *rig, running func(func() error)) {
			r.start()
			r.freeze(true)
			running(func() error { return r.keeper.Reset(r.Context()) })
		},
		"a reset that gives back a late grant": func(t *testing.T, r *rig, running func(func() error)) {
			ctx, cancel := context.WithCancel(t.Context())
			c := &lateCenter{Center: r.center, before: func() {}}
			r.member(func(cfg *keeper.Config) { cfg.Center = c })
			r.start()
			c.before = func() {
				c.before = func() {}
				r.freeze(false)
				cancel()
			}
			running(func() error { return r.keeper.Reset(ctx) })
		},
		"a reset that waits for a borrow": func(t *testing.T, r *rig, running func(func() error)) {
			c := &lateCenter{Center: r.center, before: func() {}}
			r.member(func(cfg *keeper.Config) { cfg.Center = c })
			r.start()
			asked := make(chan struct{})
			c.before = func() { // of the loop, after the loss
				c.before = func() {}
				r.freeze(false, "release")
				close(asked)
				time.Sleep(time.Second)
			}
			r.expire(r.keeper.Status().Grant.Worker)
			<-asked
			running(func() error { return r.keeper.Reset(r.Context()) })
		},
		"three resets": func(_ *testing.T, r *rig, running func(func() error)) {
			r.start()
			r.freeze(false)
			for range 3 {
				running(func() error { return r.keeper.Reset(r.Context()) })
			}
		},
		"a loss": func(_ *testing.T, r *rig, _ func(func() error)) {
			r.start()
			r.expire(r.keeper.Status().Grant.Worker)
			r.freeze(false, "acquire", "release")
			time.Sleep(lease.DefaultTTL / 2)
		},
	} {
		named(t, name, func(t *testing.T, r *rig) {
			var others sync.WaitGroup
			begin(t, r, func(call func() error) {
				others.Go(func() {
					if err := call(); err == nil {
						t.Error("it succeeds beside a stop on a frozen store")
					}
				})
				synctest.Wait()
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			_ = r.keeper.Stop(ctx)
			require.LessOrEqual(t, time.Since(began), 5*time.Second)
			_, err := r.gen.NextID()
			require.ErrorIs(t, err, generator.ErrClosed)
			others.Wait()
			require.LessOrEqual(t, time.Since(began), 5*time.Second, "and ends the others")
			require.Equal(t, keeper.Stopped, r.keeper.Status().State)
		})
	}
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
		require.ErrorIs(t, err, generator.ErrClosed)
	})
}

func TestLifeCycle(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		require.ErrorContains(t, r.keeper.Reset(t.Context()), "idle")
		r.start()
		require.ErrorContains(t, r.keeper.Start(t.Context()), "it has started")
		first, id := r.keeper.Status().Grant, r.next()
		for range 2 {
			require.NoError(t, r.keeper.Stop(t.Context()))
			require.ErrorContains(t, r.keeper.Reset(t.Context()), "stopped")
			require.ErrorIs(t, r.gen.Err(), generator.ErrClosed)

			again := r.start()
			require.NotEqual(t, first.Owner, again.Owner)
			time.Sleep(3 * lease.DefaultTTL) // it is renewed
			require.True(t, r.next().Time.After(id.Time))
		}
		require.NoError(t, r.keeper.Reset(t.Context()))
		require.NoError(t, r.keeper.Stop(t.Context()))
		for range 2 { // a start that fails leaves one that may be started or stopped
			r.center.Intercept(func(context.Context, string, bool) error { return lease.ErrSetup })
			require.ErrorIs(t, r.keeper.Start(t.Context()), lease.ErrSetup)
			require.ErrorIs(t, r.gen.Err(), generator.ErrNotStarted)
		}
		require.NoError(t, r.keeper.Stop(t.Context()))
		require.ErrorIs(t, r.gen.Err(), generator.ErrClosed)

		// Stop ends the starts that were called before it, also those that wait for another.
		r.center.Intercept(func(ctx context.Context, _ string, _ bool) error {
			<-ctx.Done()
			return ctx.Err()
		})
		failed := make(chan error, 2)
		for range cap(failed) {
			go func() { failed <- r.keeper.Start(t.Context()) }()
		}
		synctest.Wait()
		require.NoError(t, r.keeper.Stop(t.Context()))
		require.ErrorContains(t, <-failed, "stopped during the call")
		require.ErrorContains(t, <-failed, "stopped during the call")
		require.Equal(t, keeper.Stopped, r.keeper.Status().State)
	})
}
