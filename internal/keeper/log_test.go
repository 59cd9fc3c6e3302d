package keeper_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/keeper"
	"github.com/snowlease/snowlease/lease"
)

// story returns the log since began: seconds, level and message.
func (r *rig) story(began time.Time) (lines []string) {
	r.Helper()
	for line := range strings.Lines(r.log.String()) {
		var at time.Time
		found := regexp.MustCompile(`^time=(\S+) level=(\w+) msg="?([^"=]+?)"? \w+=`).FindStringSubmatch(line)
		require.NotNil(r, found, line)
		require.NoError(r, at.UnmarshalText([]byte(found[1])))
		if !at.Before(began) {
			lines = append(lines, fmt.Sprintf("%.1f %s %s", at.Sub(began).Seconds(), found[2], found[3]))
		}
	}
	return lines
}

// The log reports an outage in order and with the right times, even if nobody asks for
// an id.
func TestTheLogTellsAnOutage(t *testing.T) {
	tellsAll := func(r *rig) {
		r.member(func(c *keeper.Config) { c.Jitter = func(_, most time.Duration) time.Duration { return most } })
	}
	named(t, "the center is away", func(t *testing.T, r *rig) {
		tellsAll(r)
		r.start()
		began, ceiling := time.Now(), time.UnixMilli(r.keeper.Status().Grant.Ceiling)
		up := r.down()
		time.Sleep(10*time.Minute - time.Second/2)
		require.Len(t, r.story(began), 3+18)
		require.Equal(t, []string{
			"0.0 INFO worker id borrowed",
			"10.0 WARN lease not renewed; retrying",
			"30.0 ERROR ids stopped: the lease has expired",
			"60.0 ERROR still no ids: the lease has expired", // and so on
		}, r.story(began)[:4])
		require.Equal(t, began.Add(lease.DefaultTTL), ceiling)
		up()
		time.Sleep(time.Minute)
		require.Greater(t, len(r.story(began)), 3+19)
		require.Equal(t, []string{
			"600.5 WARN lease lost; borrowing another worker id",
			"600.5 INFO worker id borrowed",
			"600.5 INFO ids resumed",
		}, r.story(began)[3+19:])
		require.Regexp(t, `retrying" namespace=orders center=memory worker=0 ids_stop_at=2026-11-20T12:00:30.001Z failing_since=2026-11-20T12:00:10.000Z err=`, r.log.String())
		require.NotRegexp(t, `(stopped|lost|borrowed|resumed).* ids_stop_at=`, r.log.String(), "they have stopped")
		require.Regexp(t, `ids stopped: .* worker=\d+ namespace=orders center=memory ceiling=\S+ failing_since=2026-11-20T12:00:10.000Z err="memcenter: renew: connection refused"`, r.log.String())
		require.Regexp(t, `ids resumed" worker=\d+ namespace=orders center=memory after=9m30.499s`, r.log.String(), "since the tick after the ceiling")

		r.center.Intercept(func(context.Context, string, bool) error { // nor heeds its context
			time.Sleep(25 * time.Second)
			return errRefused
		})
		time.Sleep(time.Minute)
		require.Contains(t, r.story(began), "680.5 ERROR ids stopped: the lease has expired")
	})
	named(t, "and does not heed contexts, after another start", func(t *testing.T, r *rig) {
		r.start()
		require.NoError(t, r.keeper.Stop(t.Context()))
		r.start()
		began := time.Now()
		r.center.Intercept(func(context.Context, string, bool) error {
			time.Sleep(time.Minute)
			return errRefused
		})
		time.Sleep(31 * time.Second)
		require.Contains(t, r.story(began), "30.0 ERROR ids stopped: the lease has expired")
	})
	named(t, "and hangs", func(t *testing.T, r *rig) {
		tellsAll(r)
		r.start()
		began := time.Now()
		r.freeze(false)
		time.Sleep(time.Minute)
		require.Equal(t, "30.0 ERROR ids stopped: the lease has expired", r.story(began)[2])
	})
	named(t, "a lost lease that nothing replaces", func(t *testing.T, r *rig) {
		tellsAll(r)
		r.start()
		began := time.Now()
		r.expire(r.keeper.Status().Grant.Worker)
		r.center.Intercept(func(_ context.Context, verb string, _ bool) error {
			if verb == "acquire" {
				return errors.New("read-only")
			}
			return nil
		})
		time.Sleep(time.Minute - time.Second/2)
		r.center.Intercept(nil)
		time.Sleep(time.Minute)
		require.Equal(t, []string{
			"0.0 INFO worker id borrowed",
			"10.0 WARN lease lost; borrowing another worker id",
			"10.0 WARN worker id not borrowed; retrying",
			"30.0 ERROR ids stopped: the lease has expired",
			"60.0 ERROR still no ids: the lease has expired",
			"60.5 INFO worker id borrowed",
			"60.5 INFO ids resumed",
		}, r.story(began))
		require.Regexp(t, `lease lost.* worker=0 ids_stop_at=2026-11-20T12:00:30.001Z token=`, r.log.String(), "its range is used up")
		require.Regexp(t, `worker id not borrowed; retrying" namespace=orders center=memory ids_stop_at=2026-11-20T12:00:30.001Z failing_since=2026-11-20T12:00:10.000Z err=`, r.log.String())
	})
	named(t, "nothing of the kind", func(t *testing.T, r *rig) {
		r.start()
		for range 20 {
			up := r.down()
			time.Sleep(15 * time.Second)
			up()
			time.Sleep(15 * time.Second)
		}
		r.center.Wipe()
		time.Sleep(5 * time.Minute)
		require.NoError(t, r.keeper.Reset(t.Context()), "without a worker id for a moment, and not by an expired lease")
		time.Sleep(time.Minute)
		require.NoError(t, r.keeper.Stop(t.Context()))
		time.Sleep(time.Minute)
		require.NotContains(t, r.log.String(), "ids stopped")
		require.NotContains(t, r.log.String(), "ids resumed")
	})
	named(t, "it stops during the outage", func(t *testing.T, r *rig) {
		r.start()
		r.down()
		time.Sleep(20 * time.Second)
		require.Error(t, r.keeper.Stop(t.Context()))
		time.Sleep(time.Minute)
		require.NotContains(t, r.log.String(), "ids stopped")
	})
}

// The generator's clock determines when ids stop, not the timers of a process that was
// paused.
func TestTheLogTellsWhenIdsStopped(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"before the timer": time.Minute, "after the timer": -time.Minute, "after a renewal": 0} {
		named(t, name, func(t *testing.T, r *rig) {
			var step atomic.Int64
			r.stepping(func() time.Duration { return time.Duration(step.Load()) })
			r.start()
			if ahead == 0 {
				time.Sleep(time.Minute)
			}
			ceiling := time.UnixMilli(r.keeper.Status().Grant.Ceiling)
			up := r.down()
			step.Store(int64(ahead))
			time.Sleep(time.Until(ceiling.Add(max(0, -ahead))))
			if ahead <= 0 { // or a renewal that fails notices it
				require.NotContains(t, r.log.String(), "ids stopped")
			}
			time.Sleep(time.Second)
			require.Contains(t, r.log.String(), "ids stopped")
			up()
			time.Sleep(5 * time.Second)
			after := regexp.MustCompile(`"?ids resumed"?.* after=(\S+)`).FindStringSubmatch(r.log.String())
			require.NotNil(t, after)
			stopped, err := time.ParseDuration(after[1])
			require.NoError(t, err)
			require.InDelta(t, (3*time.Second + max(0, ahead)).Seconds(), stopped.Seconds(), 3, "since the ceiling passed by the generator's clock")
		})
	}
}

// FailingSince is when the first of the failed attempts began, whatever the others say.
func TestFailingSince(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.member(func(c *keeper.Config) { c.Jitter = longest })
		since := func() time.Time { return r.keeper.Status().FailingSince }
		sleepUntilFailure := func() (began time.Time) {
			calls := r.failing("renew", true, context.DeadlineExceeded)
			for calls.ended() == 0 {
				require.Zero(t, since(), "nothing has failed yet")
				time.Sleep(100 * time.Millisecond)
			}
			return calls.first()
		}
		r.start()
		require.Zero(t, since())
		began := sleepUntilFailure()
		time.Sleep(10 * time.Second)
		require.Equal(t, began, since())
		r.center.Intercept(nil)
		time.Sleep(10 * time.Second)
		require.Zero(t, since(), "renewed")

		began = sleepUntilFailure()
		up := r.down()
		time.Sleep(time.Minute)
		require.Equal(t, began, since(), "after another error")
		r.center.Intercept(func(_ context.Context, verb string, _ bool) error {
			if verb == "acquire" {
				return errRefused
			}
			return nil
		})
		time.Sleep(10 * time.Second)
		require.Equal(t, keeper.Borrowing, r.keeper.Status().State)
		require.Equal(t, began, since(), "after the loss")
		up()
		time.Sleep(10 * time.Second)
		require.Zero(t, since(), "once lent")

		up = r.down()
		began = time.Now()
		require.Error(t, r.keeper.Reset(t.Context()))
		require.Equal(t, began, since())
		up()
		time.Sleep(10 * time.Second)
		require.NoError(t, r.keeper.Reset(t.Context()))
		require.Zero(t, since())
		began = time.Now()
		r.down()
		require.Error(t, r.keeper.Stop(t.Context()))
		require.Equal(t, began, since())
	})
}

// A start that tries again reports so immediately, as does the status.
func TestFailingStart(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		up := r.down()
		began := time.Now()
		go func() {
			time.Sleep(500 * time.Millisecond)
			st := r.keeper.Status()
			require.Equal(t, keeper.Borrowing, st.State)
			require.ErrorIs(t, st.Err, errRefused)
			require.Equal(t, began, st.FailingSince)
			require.Equal(t, []string{"0.0 WARN worker id not borrowed; retrying"}, r.story(began))
			up()
		}()
		r.start()
		require.Len(t, r.story(began), 2, "later failures are not logged")
		require.NoError(t, r.keeper.Stop(t.Context()))

		r.member(nil)
		r.down()
		began = time.Now()
		for range 2 {
			require.ErrorIs(t, r.keeper.Start(t.Context()), errRefused)
			require.Equal(t, keeper.Idle, r.keeper.Status().State)
			require.Equal(t, began, r.keeper.Status().FailingSince)
			time.Sleep(time.Second)
			began = time.Now()
		}
	})
}

// A quarantine ends by itself, so that the log calls it a wait. The first start of a
// namespace reads as a start, and a loss as a loss.
func TestTheLogTellsAQuarantine(t *testing.T) {
	const (
		newcomer = "INFO new namespace; waiting for its first worker id"
		lossy    = "INFO the center may have lost grants; waiting for a worker id"
		borrowed = "INFO worker id borrowed"
	)
	// The lines since began, without their times.
	lines := func(r *rig, began time.Time) (lines []string) {
		for _, line := range r.story(began) {
			_, line, _ = strings.Cut(line, " ")
			lines = append(lines, line)
		}
		return lines
	}
	bubble(t, func(t *testing.T, r *rig) {
		r.center.Wipe()
		began := time.Now()
		r.start()
		require.Equal(t, []string{newcomer, borrowed}, lines(r, began))
		require.Regexp(t, `first worker id" namespace=orders center=memory wait=2\.251s hint="if it is not new, check its spelling and which store this is"\n`, r.log.String())
		require.Regexp(t, `worker id borrowed" .* ids_ahead=29\.\d+s\n`, r.log.String())

		// The process has had a worker id, so that an empty store is a loss.
		r.center.Wipe()
		began = time.Now()
		time.Sleep(20 * time.Second)
		require.Equal(t, []string{"WARN lease lost; borrowing another worker id", lossy, borrowed}, lines(r, began)[:3])
		require.Regexp(t, `lost grants; waiting for a worker id" namespace=orders center=memory ids_stop_at=\S+ wait=2\.251s until=\S+ reason="nothing is on record for this namespace"\n`, r.log.String())
		require.Equal(t, "all records were lost", r.keeper.Status().Reason, "which were there")
	})
	bubble(t, func(t *testing.T, r *rig) {
		r.member(func(c *keeper.Config) { c.Jitter = longest })
		r.center.Reincarnate("2")
		up := r.down()
		began := time.Now()
		time.AfterFunc(500*time.Millisecond, up)
		time.AfterFunc(2*time.Second, func() { r.down() })
		time.AfterFunc(3*time.Second, up)
		r.start()
		require.Equal(t, []string{"WARN worker id not borrowed; retrying", lossy, "WARN worker id not borrowed; retrying", borrowed}, lines(r, began))
		require.Regexp(t, `waiting for a worker id" namespace=orders center=memory wait=2\.251s until=\S+ reason="the store restarted or was replaced"\n`, r.log.String())
		require.Equal(t, `incarnation of the store changed from "0" to "2"`, r.keeper.Status().Reason)
	})
	bubble(t, func(t *testing.T, r *rig) {
		r.member(func(c *keeper.Config) { c.Wait, c.ExactTimes = time.Minute, true })
		r.center.Wipe()
		began := time.Now()
		r.start()
		require.Equal(t, []string{newcomer, borrowed}, lines(r, began))
		require.Contains(t, r.log.String(), " wait=32.001s hint=")
	})
	bubble(t, func(t *testing.T, r *rig) {
		r.center.Intercept(func(context.Context, string, bool) error {
			return &lease.QuarantineError{Reason: "\x1b]0;" + strings.Repeat("long ", 200), Now: time.Now(), Until: time.Now().Add(time.Second)}
		})
		time.AfterFunc(time.Second, func() { r.center.Intercept(nil) })
		r.start()
		require.Regexp(t, `reason="\?\]0;long .{480,500}\.\.\. \(1004 bytes\)"\n`, r.log.String(), "a text of the store")
	})
	bubble(t, func(t *testing.T, r *rig) {
		r.center.Advance(48 * time.Hour) // so that the store has a late time
		r.center.Reincarnate("2")
		_, err := r.center.Acquire(t.Context(), request())
		require.Error(t, err)
		r.center.Advance(-48 * time.Hour)
		began := time.Now()
		require.ErrorContains(t, r.keeper.Start(t.Context()), "no process can have written such a late time")
		require.Equal(t, []string{"WARN worker id not borrowed; retrying"}, lines(r, began))
		require.Contains(t, r.log.String(), "no process can have written such a late time")
	})
}

// Now is by the generator's clock, which decides when ids stop.
func TestNow(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var step atomic.Int64
		r.stepping(func() time.Duration { return time.Duration(step.Load()) })
		require.Zero(t, r.keeper.Now())
		r.start()
		for range 2 {
			time.Sleep(13 * time.Second) // so that it was renewed
			require.WithinDuration(t, time.Now(), r.keeper.Now(), time.Millisecond)
		}
		step.Store(int64(time.Minute)) // a suspended host
		require.WithinDuration(t, time.Now().Add(time.Minute), r.keeper.Now(), time.Millisecond)
	})
}
