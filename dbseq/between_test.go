//go:build prove

package dbseq_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// TestBetweenStatements checks that what happens between the look of a call and the statement that
// writes its decision counts too.
func TestBetweenStatements(t *testing.T) {
	const meta, opens, renew, put = "UPDATE snowlease_meta", "INTO snowlease_meta", "UPDATE snowlease_slot", "SET owner"
	hold := request("orders", 1).Pin().Hold().Milliseconds()
	quarantine := func(t *testing.T, s clocked) int64 {
		t.Helper()
		return number(t, s.db, "SELECT quarantine_ms FROM snowlease_meta WHERE ns = 'orders'")
	}
	now := func(t *testing.T, s clocked) int64 { return number(t, s.db, "SELECT ms FROM snowlease_host") }
	acquires := func(t *testing.T, c lease.Center, _ lease.Grant) {
		requireQuarantine(t, c, request("orders", 2))
	}
	changes := func(query string) func(*testing.T, clocked) {
		return func(t *testing.T, s clocked) { rawExec(t, s.db, query) }
	}
	sleeps := func(d time.Duration) func(*testing.T, clocked) { return func(_ *testing.T, s clocked) { s.Sleep(d) } }
	lends := func(giveBack func(lease.Grant) int64) func(*testing.T, clocked) {
		return func(t *testing.T, s clocked) {
			g := acquire(t, s.center(t), request("orders", 2))
			if giveBack != nil {
				require.NoError(t, s.center(t).Release(t.Context(), g, giveBack(g)))
			}
		}
	}
	floor, ceiling := func(g lease.Grant) int64 { return g.Floor }, func(g lease.Grant) int64 { return g.Ceiling }
	anotherLayout := changes("UPDATE snowlease_meta SET pin = REPLACE(pin, '41/5/0/17', 'another')")
	anotherServer := func(t *testing.T, s clocked) { s.Reincarnate(t) }
	refuses := func(want any) func(*testing.T, lease.Center, lease.Grant) {
		return func(t *testing.T, c lease.Center, held lease.Grant) {
			req := request("orders", 2)
			req.CallerTime = held.Now
			_, err := c.Acquire(t.Context(), req)
			require.ErrorAs(t, err, want)
		}
	}
	loses := func(t *testing.T, c lease.Center, held lease.Grant) {
		_, err := c.Renew(t.Context(), held)
		require.ErrorIs(t, err, lease.ErrLost)
	}
	raises := func(t *testing.T, s clocked) {
		greater := request("orders", 2)
		greater.MaxTTL *= 2
		acquire(t, s.center(t), greater)
	}
	renewsTwice := func(t *testing.T, c lease.Center, held lease.Grant) { // the first has all slots show the raise
		for range 2 {
			_, _ = c.Renew(t.Context(), held)
		}
	}
	// decided checks that the end of a raise counts from a look after which the slots went on to show it.
	decided := func(t *testing.T, s clocked) {
		rec, err := s.center(t).Extras().Operator.Record(t.Context(), "orders")
		require.NoError(t, err)
		if at := rec.Pin.Change.At; at > 0 {
			require.GreaterOrEqual(t, at, now(t, s)+hold)
			require.Zero(t, number(t, s.db, "SELECT COUNT(*) FROM snowlease_slot WHERE hold_ms < ?", rec.Pin.Hold().Milliseconds()))
		}
	}
	for name, test := range map[string]struct {
		before  func(t *testing.T, s clocked) // the call
		write   string
		between func(t *testing.T, s clocked) // the look and the write
		call    func(t *testing.T, c lease.Center, held lease.Grant)
		after   func(t *testing.T, s clocked)
	}{
		"a caller pauses before it records another server": {
			before: func(t *testing.T, s clocked) { s.Reincarnate(t) },
			write:  meta, between: func(_ *testing.T, s clocked) { s.Sleep(time.Minute) }, call: acquires,
			after: func(t *testing.T, s clocked) { require.Equal(t, now(t, s)+hold, quarantine(t, s)) },
		},
		"the answer says when the quarantine ends": {
			before: func(t *testing.T, s clocked) { s.Reincarnate(t) },
			write:  meta, between: func(_ *testing.T, s clocked) { s.Sleep(time.Minute) },
			call: func(t *testing.T, c lease.Center, _ lease.Grant) {
				until := requireQuarantine(t, c, request("orders", 2)).Until
				require.Equal(t, until, requireQuarantine(t, c, request("orders", 2)).Until)
			},
		},
		"a caller pauses before it records a loss": {
			before: func(t *testing.T, s clocked) { rawExec(t, s.db, "DELETE FROM snowlease_slot WHERE slot = 1") },
			write:  "INTO snowlease_slot", between: func(_ *testing.T, s clocked) { s.Sleep(time.Minute) }, call: acquires,
			after: func(t *testing.T, s clocked) {
				require.Equal(t, now(t, s)+hold, quarantine(t, s))
				require.Equal(t, now(t, s)+hold, number(t, s.db, "SELECT hwm_ms FROM snowlease_slot WHERE slot = 1"))
			},
		},
		"more is lost": {
			before: func(t *testing.T, s clocked) { rawExec(t, s.db, "DELETE FROM snowlease_slot WHERE slot = 1") },
			write:  meta, between: func(t *testing.T, s clocked) { rawExec(t, s.db, "DELETE FROM snowlease_slot") },
			call: func(t *testing.T, c lease.Center, _ lease.Grant) {
				require.Contains(t, requireQuarantine(t, c, request("orders", 2)).Reason, "2 of 2 slot records")
			},
		},
		"a third server answers": {
			before: func(t *testing.T, s clocked) { rawExec(t, s.db, "UPDATE snowlease_meta SET incarnation = 'x'") },
			write:  meta, between: func(t *testing.T, s clocked) { s.Reincarnate(t) },
			call: func(t *testing.T, c lease.Center, _ lease.Grant) {
				require.Contains(t, requireQuarantine(t, c, request("orders", 2)).Reason, `changed from "x" to "host 2"`)
			},
		},
		"a raise is shown by a slot that is given back": {
			write: put, between: func(t *testing.T, s clocked) { rawExec(t, s.db, "UPDATE snowlease_slot SET hold_ms = 2 * hold_ms") },
			call: func(t *testing.T, c lease.Center, held lease.Grant) {
				require.NoError(t, c.Release(t.Context(), held, held.Floor))
			},
			after: func(t *testing.T, s clocked) {
				require.Equal(t, 2*hold, number(t, s.db, "SELECT MIN(hold_ms) FROM snowlease_slot"))
			},
		},
		"a raise is shown by slots before the record of the namespace is created": {
			before: func(t *testing.T, s clocked) { rawExec(t, s.db, "DELETE FROM snowlease_meta") },
			write:  opens, between: func(t *testing.T, s clocked) {
				rawExec(t, s.db, "UPDATE snowlease_slot SET hold_ms = 2 * hold_ms WHERE slot = 1")
			},
			call: acquires,
			after: func(t *testing.T, s clocked) {
				require.Equal(t, now(t, s)+2*hold, quarantine(t, s))
			},
		},
		"slots show less as used before the record of the namespace is created": {
			before: func(t *testing.T, s clocked) { rawExec(t, s.db, "DELETE FROM snowlease_meta") },
			write:  opens, between: func(t *testing.T, s clocked) { rawExec(t, s.db, "UPDATE snowlease_slot SET used_ms = used_ms / 2") },
			call: acquires,
			after: func(t *testing.T, s clocked) {
				require.Equal(t, now(t, s)+hold, quarantine(t, s))
				require.EqualValues(t, 1, number(t, s.db, "SELECT COUNT(*) FROM snowlease_meta WHERE pin LIKE '%raised_from=%'"))
			},
		},
		"a slot is lost before the record of the namespace is created": {
			before: func(t *testing.T, s clocked) { rawExec(t, s.db, "DELETE FROM snowlease_meta") },
			write:  opens, between: func(t *testing.T, s clocked) { rawExec(t, s.db, "DELETE FROM snowlease_slot WHERE slot = 1") },
			call: func(t *testing.T, c lease.Center, _ lease.Grant) {
				require.Contains(t, requireQuarantine(t, c, request("orders", 2)).Reason, "1 of 2 slot records")
			},
		},
		"the namespace is retired before its record is created": {
			before: changes("DELETE FROM snowlease_meta"), write: opens, between: changes("UPDATE snowlease_slot SET shape = 'retired: moved'"),
			call: refuses(new(*lease.MismatchError)),
		},
		"members of another layout borrow":      {write: put, between: anotherLayout, call: refuses(new(*lease.MismatchError))},
		"a clock steps ahead before a borrow":   {write: put, between: sleeps(time.Hour), call: refuses(new(*lease.ClockError))},
		"a clock steps back before a borrow":    {write: put, between: sleeps(-time.Hour), call: refuses(new(*lease.ClockError))},
		"another server answers a borrow":       {write: put, between: anotherServer, call: refuses(new(*lease.QuarantineError))},
		"a quarantine begins before a borrow":   {write: put, between: changes("UPDATE snowlease_meta SET quarantine_ms = 9999999999999"), call: refuses(new(*lease.QuarantineError))},
		"a loan":                                {write: put, between: lends(nil), call: refuses(new(*lease.NoFreeWorkerError))},
		"a loan that is given back, used ahead": {write: put, between: lends(ceiling), call: refuses(new(*lease.NoFreeWorkerError))},
		"a lease of another program": {
			write: put, between: changes("UPDATE snowlease_slot SET expires_ms = 9999999999999 WHERE since_ms = 0"), call: refuses(new(*lease.NoFreeWorkerError)),
		},
		"a mark of another program": {
			write: put, between: changes("UPDATE snowlease_slot SET hwm_ms = 9999999999999 WHERE since_ms = 0"), call: refuses(new(*lease.NoFreeWorkerError)),
		},
		"a loan that is given back": {
			before: lends(floor), // so that only the version and the token differ after the next loan
			write:  put, between: lends(floor),
			call: func(t *testing.T, c lease.Center, _ lease.Grant) { acquire(t, c, request("orders", 2)) },
			after: func(t *testing.T, s clocked) {
				require.EqualValues(t, 2, number(t, s.db, "SELECT MAX(token) - MIN(token) FROM snowlease_slot"))
			},
		},
		"a lease ends before another range is lent": {
			before: changes("UPDATE snowlease_meta SET quarantine_ms = (SELECT ms FROM snowlease_host)"),
			write:  put, between: sleeps(5 * time.Minute), call: loses,
		},
		"a lease has ended before its owner asks again": {
			before: sleeps(11 * time.Minute), write: put, between: sleeps(0),
			call: func(t *testing.T, c lease.Center, held lease.Grant) {
				req := held.Request
				req.First, req.Last = held.Worker, held.Worker
				requireDisjoint(t, held, acquire(t, c, req))
			},
		},
		"a floor that differs from the one of the grant": {
			write: renew, between: changes("UPDATE snowlease_slot SET floor_ms = floor_ms + 60001 WHERE since_ms > 0"),
			call: func(t *testing.T, c lease.Center, held lease.Grant) {
				renewed, err := c.Renew(t.Context(), held)
				require.NoError(t, err)
				require.NotEqual(t, held.Floor, renewed.Floor)
			},
		},
		// To MySQL, a row that keeps its values has not changed.
		"a range ahead of the clock is renewed twice in a millisecond": {
			before: changes("UPDATE snowlease_meta SET quarantine_ms = (SELECT ms + 360000 FROM snowlease_host)"), write: renew, between: sleeps(0),
			call: func(t *testing.T, c lease.Center, held lease.Grant) {
				for range 3 {
					renewed, err := c.Renew(t.Context(), held)
					require.NoError(t, err)
					require.Equal(t, held.Now+request("", 0).MaxTTL.Milliseconds(), renewed.Ceiling)
					held = renewed
				}
			},
			after: func(t *testing.T, s clocked) {
				require.Equal(t, now(t, s)+request("", 0).MaxTTL.Milliseconds(), number(t, s.db, "SELECT MAX(hwm_ms) FROM snowlease_slot"))
			},
		},
		"another server, to which the slots that show a raise have not come": {
			before: raises, write: meta, between: func(t *testing.T, s clocked) {
				s.Reincarnate(t)
				rawExec(t, s.db, "UPDATE snowlease_slot SET hold_ms = 1")
			}, call: renewsTwice, after: decided,
		},
		// The raise may be forgotten meanwhile, and begun again.
		"a pause before the end of a raise is decided": {before: raises, write: meta, between: sleeps(1500 * time.Millisecond), call: renewsTwice, after: decided},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, e engine, dsn string) {
				s, c, n := countedByAClock(t, e, dsn)
				require.NoError(t, s.center(t).Extras().Init(t.Context(), request("orders", 2)))
				req := request("orders", 2)
				req.TTL, req.MaxLead = 5*time.Minute, 9*time.Minute
				held := acquire(t, c, req)
				if test.before != nil {
					test.before(t, s)
				}
				between := false
				n.before = func(_ int64, query string) error {
					if !between && strings.Contains(query, test.write) && !strings.HasPrefix(query, "SELECT") {
						between = true
						test.between(t, s)
					}
					return nil
				}
				test.call(t, c, held)
				require.True(t, between)
				if test.after != nil {
					test.after(t, s)
				}
			})
		})
	}
}
