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
	const meta, opens, slot = "UPDATE snowlease_meta", "INTO snowlease_meta", "UPDATE snowlease_slot"
	hold := request("orders", 1).Pin().Hold().Milliseconds()
	quarantine := func(t *testing.T, s clocked) int64 {
		t.Helper()
		return number(t, s.db, "SELECT quarantine_ms FROM snowlease_meta WHERE ns = 'orders'")
	}
	now := func(t *testing.T, s clocked) int64 { return number(t, s.db, "SELECT ms FROM snowlease_host") }
	acquires := func(t *testing.T, c lease.Center, _ lease.Grant) {
		requireQuarantine(t, c, request("orders", 2))
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
			write: slot, between: func(t *testing.T, s clocked) { rawExec(t, s.db, "UPDATE snowlease_slot SET hold_ms = 2 * hold_ms") },
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
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, e engine, dsn string) {
				s, c, n := countedByAClock(t, e, dsn)
				require.NoError(t, s.center(t).Extras().Init(t.Context(), request("orders", 2)))
				held := acquire(t, c, request("orders", 2))
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
