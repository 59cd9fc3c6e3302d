//go:build prove

package dbseq_test

import (
	"cmp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/lease"
)

// TestClaimChecksAllAgain changes records between the list of free slots and the claim
// of one, while the clock stands still.
func TestClaimChecksAllAgain(t *testing.T) {
	t.Parallel()
	fresh := func(t *testing.T) (clocked, *dbseq.Center, *counter) {
		s, c, n := countedByAClock(t, engines[0], engines[0].dsn(t))
		require.NoError(t, s.center(t).Extras().Init(t.Context(), request("orders", 1)))
		return s, c, n
	}
	for name, test := range map[string]struct {
		between func(t *testing.T, s clocked)
		want    any
	}{
		"members of another layout": {func(t *testing.T, s clocked) {
			s.Wipe(t)
			other := request("orders", 1)
			other.Layout = "another"
			require.NoError(t, s.center(t).Extras().Init(t.Context(), other))
		}, new(*lease.MismatchError)},
		"a clock that steps ahead": {func(_ *testing.T, s clocked) { s.Sleep(time.Hour) }, new(*lease.ClockError)},
		"a clock that steps back":  {func(_ *testing.T, s clocked) { s.Sleep(-time.Hour) }, new(*lease.ClockError)},
		"another server":           {func(t *testing.T, s clocked) { s.Reincarnate(t) }, new(*lease.QuarantineError)},
		"a quarantine": {func(t *testing.T, s clocked) {
			rawExec(t, s.db, "UPDATE snowlease_meta SET quarantine_ms = 9999999999999, reason = 'test'")
		}, new(*lease.QuarantineError)},
		"a wipe": {func(t *testing.T, s clocked) { s.Wipe(t) }, new(*lease.QuarantineError)},
		"a loss, and all made anew by another": {func(t *testing.T, s clocked) {
			rawExec(t, s.db, "DELETE FROM snowlease_slot")
			requireQuarantine(t, s.center(t), request("orders", 1))
		}, new(*lease.QuarantineError)},
		"a loan": {func(t *testing.T, s clocked) {
			acquire(t, s.center(t), request("orders", 1))
		}, new(*lease.NoFreeWorkerError)},
		"a loan that was given back, used ahead": {func(t *testing.T, s clocked) {
			g := acquire(t, s.center(t), request("orders", 1))
			require.NoError(t, s.center(t).Release(t.Context(), g, g.Ceiling))
		}, new(*lease.NoFreeWorkerError)},
		"a lease of another program": {func(t *testing.T, s clocked) {
			rawExec(t, s.db, "UPDATE snowlease_slot SET expires_ms = ?", time.Now().Add(time.Hour).UnixMilli())
		}, new(*lease.NoFreeWorkerError)},
		"a mark of another program": {func(t *testing.T, s clocked) {
			rawExec(t, s.db, "UPDATE snowlease_slot SET hwm_ms = ?", time.Now().Add(time.Hour).UnixMilli())
		}, new(*lease.NoFreeWorkerError)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, c, n := fresh(t)
			n.before = once("UPDATE snowlease_slot", func() { test.between(t, s) })
			req := request("orders", 1)
			req.CallerTime = time.Now().UnixMilli()
			g, err := c.Acquire(t.Context(), req)
			require.ErrorAs(t, err, test.want)
			require.Zero(t, g)
		})
	}
	t.Run("a loan that was given back", func(t *testing.T) {
		t.Parallel()
		s, c, n := fresh(t)
		before := acquire(t, c, request("orders", 1)) // so that only the version and the token differ after the next loan
		require.NoError(t, c.Release(t.Context(), before, before.Floor))
		var between lease.Grant
		n.before = once("UPDATE snowlease_slot", func() {
			between = acquire(t, s.center(t), request("orders", 1))
			require.NoError(t, s.center(t).Release(t.Context(), between, between.Floor))
		})
		g := acquire(t, c, request("orders", 1))
		require.Greater(t, g.Token, between.Token, "it is the grant on record")
		_, err := c.Renew(t.Context(), g)
		require.NoError(t, err)
	})
}

// TestClaimAheadChecksAllAgain does the same while ranges begin ahead of the clock.
func TestClaimAheadChecksAllAgain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		between func(t *testing.T, s clocked)
		floor   int64 // in minutes; 0 if refused
	}{
		"nothing": {func(*testing.T, clocked) {}, 6},
		"a loss": {func(t *testing.T, s clocked) {
			rawExec(t, s.db, "UPDATE snowlease_meta SET quarantine_ms = quarantine_ms + 60000")
		}, 7},
		"a clock that steps back": {func(_ *testing.T, s clocked) { s.Sleep(-4 * time.Minute) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, c, n := countedByAClock(t, engines[0], engines[0].dsn(t))
			req := request("orders", 1)
			req.TTL, req.MaxLead = 5*time.Minute, 9*time.Minute
			require.NoError(t, c.Extras().Init(t.Context(), req))
			now := number(t, s.db, "SELECT ms FROM snowlease_host")
			rawExec(t, s.db, "UPDATE snowlease_meta SET quarantine_ms = ?", now+6*60_000)
			n.before = once("UPDATE snowlease_slot", func() { test.between(t, s) })
			g, err := c.Acquire(t.Context(), req)
			if test.floor == 0 {
				require.True(t, quarantined(err), err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, now+test.floor*60_000, g.Floor)
			require.Equal(t, now+10*60_000, g.Ceiling, "MaxTTL above the clock")
			require.Equal(t, []int64{g.Floor, g.Ceiling}, []int64{
				number(t, s.db, "SELECT floor_ms FROM snowlease_slot"), number(t, s.db, "SELECT hwm_ms FROM snowlease_slot"),
			}, "the answer is what is on record")
		})
	}
}

// TestAskedAgainAfterItsEnd: an owner that asks again after its lease has ended gets another range of
// the same worker id.
func TestAskedAgainAfterItsEnd(t *testing.T) {
	t.Parallel()
	s, c, _ := countedByAClock(t, engines[0], engines[0].dsn(t))
	g := first(t, c, request("orders", 1))
	s.Sleep(g.TTL + time.Second)
	requireDisjoint(t, g, acquire(t, c, g.Request))
}

// TestReleaseChecksAllAgain: Release leaves a range that was lent again since its look.
func TestReleaseChecksAllAgain(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		db := e.db(t, dsn)
		c, n := counted(t, e, dsn)
		g := first(t, c, soon(request("orders", 1)))
		var next lease.Grant
		n.before = once("UPDATE snowlease_slot", func() {
			rawExec(t, db, "UPDATE snowlease_meta SET quarantine_ms = ?", g.Now)
			next = renewSoon(t, center(t, db), g)
		})
		require.ErrorIs(t, c.Release(t.Context(), g, g.Floor), lease.ErrLost)
		require.Equal(t, next.Ceiling, number(t, db, "SELECT hwm_ms FROM snowlease_slot"), "its mark stays")
	})
}

// TestRenewalChecksAllAgain changes records just before the update of a renewal, while the
// clock stands still. Without an earlier loss the renewal extends the range, without a
// look; after one it looks, and lends another.
func TestRenewalChecksAllAgain(t *testing.T) {
	t.Parallel()
	type test struct {
		between func(t *testing.T, s clocked, g lease.Grant)
		want    any   // the error
		floor   int64 // or the floor, in minutes from the borrow
		moved   bool  // or the floor on record is another
	}
	quarantine := func(minutes int64) func(*testing.T, clocked, lease.Grant) {
		return func(t *testing.T, s clocked, g lease.Grant) {
			rawExec(t, s.db, "UPDATE snowlease_meta SET quarantine_ms = ?", g.Now+minutes*60_000)
		}
	}
	sleep := func(d time.Duration) func(*testing.T, clocked, lease.Grant) {
		return func(_ *testing.T, s clocked, _ lease.Grant) { s.Sleep(d) }
	}
	lateCopy := func(t *testing.T, s clocked, g lease.Grant) {
		_, err := s.center(t).Renew(t.Context(), g)
		require.NoError(t, err)
	}
	failover := func(t *testing.T, s clocked, _ lease.Grant) { s.Reincarnate(t) }
	otherMembers := func(t *testing.T, s clocked, _ lease.Grant) {
		rawExec(t, s.db, "UPDATE snowlease_meta SET pin = 'layout={x} pool=1 max_ttl=10m0s skew=2s'")
	}
	for name, c := range map[string]struct {
		lost  int64         // an earlier quarantine, in minutes from the borrow; 0 for none
		ttl   time.Duration // default: 5 minutes
		tests map[string]test
	}{
		"extended": {tests: map[string]test{
			"the lease ends":      {between: sleep(5 * time.Minute), want: &lease.ErrLost},
			"a loss":              {between: quarantine(6), floor: 6},
			"a loss at its start": {between: quarantine(0), floor: 5},
			"a loss just now":     {between: quarantine(10), want: new(*lease.QuarantineError)},
			"another server":      {between: failover, want: new(*lease.QuarantineError)},
			"a late copy":         {between: lateCopy},
			"another layout":      {between: otherMembers, want: new(*lease.MismatchError)},
			"another owner": {between: func(t *testing.T, s clocked, _ lease.Grant) {
				rawExec(t, s.db, "UPDATE snowlease_slot SET owner = 'f'")
			}, want: &lease.ErrLost},
			"a later token": {between: func(t *testing.T, s clocked, _ lease.Grant) {
				rawExec(t, s.db, "UPDATE snowlease_slot SET token = token + 1")
			}},
			"another floor": {between: func(t *testing.T, s clocked, _ lease.Grant) {
				rawExec(t, s.db, "UPDATE snowlease_slot SET floor_ms = floor_ms + 60001")
			}, moved: true},
			"a loss and its copy": {between: func(t *testing.T, s clocked, g lease.Grant) { quarantine(6)(t, s, g); lateCopy(t, s, g) }, floor: 6},
		}},
		"lent anew": {lost: 6, tests: map[string]test{
			"the lease ends":       {between: sleep(5 * time.Minute), want: &lease.ErrLost},
			"a second loss":        {between: quarantine(7), floor: 7},
			"another server":       {between: failover, want: new(*lease.QuarantineError)},
			"another layout":       {between: otherMembers, want: new(*lease.MismatchError)},
			"the clock steps back": {between: sleep(-210 * time.Second), want: new(*lease.QuarantineError)},
			"the mark lies far away": {between: func(t *testing.T, s clocked, g lease.Grant) {
				rawExec(t, s.db, "UPDATE snowlease_slot SET hwm_ms = ?, ver = ver + 1", g.Now+10*60_000)
			}, want: new(*lease.QuarantineError)},
		}},
		"lent anew, above its mark": {lost: 1, tests: map[string]test{
			"the clock steps back":     {between: sleep(-5 * time.Minute), want: new(*lease.QuarantineError)},
			"the clock steps a little": {between: sleep(-time.Minute), floor: 5},
		}},
		"lent anew for a minute": {lost: 6, ttl: time.Minute, tests: map[string]test{
			"nothing":     {between: sleep(0), floor: 6},
			"a late copy": {between: lateCopy, floor: 6},
			"a late copy, and the clock steps back": {between: func(t *testing.T, s clocked, g lease.Grant) {
				lateCopy(t, s, g)
				s.Sleep(-4 * time.Minute)
			}, floor: 6},
		}},
	} {
		for what, test := range c.tests {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				s, member, n := countedByAClock(t, engines[0], engines[0].dsn(t))
				req := request("orders", 1)
				req.TTL, req.MaxLead = cmp.Or(c.ttl, 5*time.Minute), 9*time.Minute
				g := first(t, member, req)
				minutes := func(n int64) int64 { return g.Now + n*60_000 }
				if c.lost > 0 {
					quarantine(c.lost)(t, s, g)
				}
				update := 1
				if c.lost > 0 {
					update = 2
				}
				n.before = nth(update, "UPDATE snowlease_slot", func() { test.between(t, s, g) })
				renewed, err := member.Renew(t.Context(), g)
				n.before = nil
				if test.want == &lease.ErrLost {
					require.ErrorIs(t, err, lease.ErrLost)
					return
				}
				if test.want != nil {
					require.ErrorAs(t, err, test.want)
					require.Zero(t, renewed)
					require.Equal(t, g.Floor, number(t, s.db, "SELECT floor_ms FROM snowlease_slot"))
					require.Equal(t, g.Token, number(t, s.db, "SELECT token FROM snowlease_slot"))
					return
				}
				require.NoError(t, err)
				require.Equal(t, []int64{renewed.Token, renewed.Floor, renewed.Ceiling}, []int64{
					number(t, s.db, "SELECT token FROM snowlease_slot"),
					number(t, s.db, "SELECT floor_ms FROM snowlease_slot"), number(t, s.db, "SELECT hwm_ms FROM snowlease_slot"),
				}, "the answer is what is on record")
				if test.moved {
					return
				}
				if test.floor == 0 {
					require.Equal(t, g.Floor, renewed.Floor)
					return
				}
				require.Equal(t, minutes(test.floor), renewed.Floor)
				require.Greater(t, renewed.Token, g.Token)
				requireDisjoint(t, g, renewed)
				if name == "extended" {
					renewed, err = member.Renew(t.Context(), renewed) // in one statement
					require.NoError(t, err)
					require.Equal(t, renewed.Ceiling, number(t, s.db, "SELECT hwm_ms FROM snowlease_slot"))
				}
			})
		}
	}
}

// TestRaiseIsDecidedByWhatWasSeen: the end of a raise counts from a look after which the raise stayed on
// record and the slots went on to show it.
func TestRaiseIsDecidedByWhatWasSeen(t *testing.T) {
	t.Parallel()
	former := request("orders", 2)
	for name, between := range map[string]func(testing.TB, clocked){
		"another server, to which the slots have not come": func(t testing.TB, s clocked) {
			s.Reincarnate(t)
			rawExec(t, s.db, "UPDATE snowlease_slot SET hold_ms = 1")
		},
		// The raise may be forgotten meanwhile, and begun again.
		"a pause": func(_ testing.TB, s clocked) { s.Sleep(1500 * time.Millisecond) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, c, n := countedByAClock(t, engines[0], engines[0].dsn(t))
			operator := s.center(t).Extras().Operator
			require.NoError(t, s.center(t).Extras().Init(t.Context(), former))
			g := acquire(t, c, former)
			greater := request("orders", 2)
			greater.MaxTTL *= 2
			acquire(t, s.center(t), greater)
			var now int64
			n.before = once("UPDATE snowlease_meta SET pin", func() {
				between(t, s)
				rec, err := operator.Record(t.Context(), "orders")
				require.NoError(t, err)
				now = rec.Now
			})
			for range 2 { // the first has all slots show the raise
				_, _ = c.Renew(t.Context(), g)
			}
			require.NotZero(t, now)
			rec, err := operator.Record(t.Context(), "orders")
			require.NoError(t, err)
			if at := rec.Pin.Change.At; at > 0 {
				require.GreaterOrEqual(t, at, now+former.Pin().Hold().Milliseconds())
				require.Zero(t, number(t, s.db, "SELECT COUNT(*) FROM snowlease_slot WHERE hold_ms < ?", rec.Pin.Hold().Milliseconds()))
			}
		})
	}
}
