//go:build prove

package dbseq_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
)

func requireQuarantine(t *testing.T, c lease.Center, req lease.Request) *lease.QuarantineError {
	t.Helper()
	_, err := c.Acquire(t.Context(), req)
	var q *lease.QuarantineError
	require.ErrorAs(t, err, &q)
	return q
}

// TestPromotion promotes a replica that missed some grants. The first verb notices, and
// later grants lie above everything that may be in use.
func TestPromotion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		engine  string
		format  string // of the binary log; dbseq refuses STATEMENT on MySQL
		primary func(testing.TB, ...string) *testserver.Server
		replica func(testing.TB, *testserver.Server, ...string) *testserver.Server
	}{
		{"mariadb", "MIXED", testserver.NewMariaDBPrimary, testserver.NewMariaDBReplica},
		{"mariadb", "ROW", testserver.NewMariaDBPrimary, testserver.NewMariaDBReplica},
		{"mariadb", "STATEMENT", testserver.NewMariaDBPrimary, testserver.NewMariaDBReplica},
		{"mysql", "MIXED", testserver.NewMySQLPrimary, testserver.NewMySQLReplica},
		{"mysql", "ROW", testserver.NewMySQLPrimary, testserver.NewMySQLReplica},
	} {
		t.Run(c.engine+"/"+c.format, func(t *testing.T) {
			t.Parallel()
			primary := c.primary(t, "--binlog-format="+c.format)
			replica := c.replica(t, primary, "--binlog-format="+c.format)
			e := servers[c.engine]
			before := center(t, e.db(t, primary.DSN()))
			after := center(t, e.db(t, replica.DSN()))
			ask := func(ns string) lease.Request {
				req := request(ns, 4)
				req.Ahead = req.MaxTTL - 250*time.Millisecond
				return req
			}

			// The replica has known, and renewed without its renewal, but not lost.
			type loan struct{ known, renewed, lost lease.Grant }
			verbs := map[string]struct {
				do    func(l *loan) (lease.Grant, error)
				lost  bool // returns ErrLost
				waits bool // until the quarantine ends
			}{
				"acquire":          {do: func(*loan) (lease.Grant, error) { return after.Acquire(t.Context(), ask("acquire")) }, waits: true},
				"renew":            {do: func(l *loan) (lease.Grant, error) { return after.Renew(t.Context(), l.known) }, waits: true},
				"renew-of-renewed": {do: func(l *loan) (lease.Grant, error) { return after.Renew(t.Context(), l.renewed) }, waits: true},
				"renew-of-lost":    {do: func(l *loan) (lease.Grant, error) { return after.Renew(t.Context(), l.lost) }, lost: true},
				"release": {do: func(l *loan) (lease.Grant, error) {
					return lease.Grant{}, after.Release(t.Context(), l.known, l.known.Ceiling)
				}},
				"release-of-lost": {do: func(l *loan) (lease.Grant, error) {
					return lease.Grant{}, after.Release(t.Context(), l.lost, l.lost.Ceiling)
				}, lost: true},
			}
			loans := map[string]*loan{}
			for ns := range verbs {
				loans[ns] = &loan{known: first(t, before, ask(ns)), renewed: acquire(t, before, ask(ns))}
			}
			replica.Follow(primary)
			replica.CutLink()
			if c.format != "STATEMENT" { // under STATEMENT, replicas record their own name with the primary's id
				want, err := before.Extras().Operator.Incarnation(t.Context(), "renew")
				require.NoError(t, err)
				r, err := after.Extras().Operator.Record(t.Context(), "renew")
				require.NoError(t, err)
				require.Equal(t, want, r.Incarnation, "rows are replicated, not statements")
			}
			all := []lease.Grant{}
			for ns, l := range loans {
				l.lost = acquire(t, before, ask(ns))
				var err error
				l.renewed, err = before.Renew(t.Context(), l.renewed)
				require.NoError(t, err)
				all = append(all, l.known, l.renewed, l.lost)
			}
			primary.Kill()
			replica.Promote()

			var end time.Time
			for ns, verb := range verbs {
				_, err := verb.do(loans[ns])
				switch {
				case verb.lost:
					require.ErrorIs(t, err, lease.ErrLost, ns)
				case verb.waits:
					require.True(t, quarantined(err), "%s: %v", ns, err)
				default:
					require.NoError(t, err, ns)
				}
				q := requireQuarantine(t, after, ask(ns))
				require.Contains(t, q.Reason, "incarnation of the store changed", ns)
				end = q.Until
			}
			replica.ShiftClock(time.Until(end) + time.Second)
			for ns, verb := range verbs {
				if verb.waits {
					g, err := verb.do(loans[ns])
					require.NoError(t, err, ns)
					all = append(all, g)
				}
			}
			replica.ShiftClock(time.Hour)
			for ns := range verbs {
				for range 4 {
					all = append(all, acquire(t, after, ask(ns)))
				}
			}
			requireDisjoint(t, all...)
		})
	}
}
