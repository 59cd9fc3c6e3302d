package dbseq_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/driver/mysql"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/idworker/lease"
	"github.com/snowlease/snowlease/internal/testserver"
)

// requireDisjoint: no two of these loans, each as it was last renewed, have a
// millisecond of a worker in common.
func requireDisjoint(t *testing.T, grants ...lease.Grant) {
	t.Helper()
	for i, a := range grants {
		for _, b := range grants[:i] {
			if a.Namespace == b.Namespace && a.Worker == b.Worker {
				require.GreaterOrEqual(t, max(a.Floor, b.Floor), min(a.Ceiling, b.Ceiling),
					"worker %d of %s: (%d, %d] and (%d, %d] overlap", a.Worker, a.Namespace, a.Floor, a.Ceiling, b.Floor, b.Ceiling)
			}
		}
	}
}

func requireQuarantine(t *testing.T, c lease.Center, req lease.Request) *lease.QuarantineError {
	t.Helper()
	_, err := c.Acquire(t.Context(), req)
	var q *lease.QuarantineError
	require.ErrorAs(t, err, &q)
	return q
}

// TestMariaDBPromotion: a replica is promoted that never got some grants. Whichever
// verb comes first sees it, holders go on, and nothing is lent that may be in use.
func TestMariaDBPromotion(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"MIXED", "ROW", "STATEMENT"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			primary := testserver.NewMySQLPrimary(t, "--binlog-format="+format)
			replica := testserver.NewMySQLReplica(t, primary, "--binlog-format="+format)
			e := engine{name: "mysql", open: mysql.Open}
			before := center(t, e.db(t, primary.DSN()))
			after := center(t, e.db(t, replica.DSN()))

			// A verb, the grant it is for, whether that got to the replica.
			type loan struct{ known, renewed, lost lease.Grant }
			verbs := map[string]func(t *testing.T, c *dbseq.Center, l *loan) error{
				"acquire": func(*testing.T, *dbseq.Center, *loan) error { return nil },
				"renew": func(t *testing.T, c *dbseq.Center, l *loan) (err error) {
					l.known, err = c.Renew(t.Context(), l.known)
					return err
				},
				"renew-of-renewed": func(t *testing.T, c *dbseq.Center, l *loan) (err error) {
					l.renewed, err = c.Renew(t.Context(), l.renewed)
					return err
				},
				"retake": func(t *testing.T, c *dbseq.Center, l *loan) (err error) {
					l.lost, err = c.Renew(t.Context(), l.lost)
					return err
				},
				"release": func(t *testing.T, c *dbseq.Center, l *loan) error {
					err := c.Release(t.Context(), l.known, l.known.Ceiling)
					return err
				},
				"release-of-lost": func(t *testing.T, c *dbseq.Center, l *loan) error {
					require.ErrorIs(t, c.Release(t.Context(), l.lost, l.lost.Ceiling), lease.ErrLost)
					return nil
				},
			}
			loans := map[string]*loan{}
			for ns := range verbs {
				require.NoError(t, before.Init(t.Context(), request(ns, 4)))
				loans[ns] = &loan{known: acquire(t, before, request(ns, 4)), renewed: acquire(t, before, request(ns, 4))}
			}
			replica.Follow(primary)
			replica.CutLink()
			if format != "STATEMENT" { // whose replicas put down their own name, but for the id
				want, err := before.Incarnation(t.Context(), "renew")
				require.NoError(t, err)
				r, err := after.Record(t.Context(), "renew")
				require.NoError(t, err)
				require.Equal(t, want, r.Incarnation, "rows are replicated, not statements")
			}
			for ns, l := range loans {
				l.lost = acquire(t, before, request(ns, 4))
				var err error
				l.renewed, err = before.Renew(t.Context(), l.renewed)
				require.NoError(t, err)
			}
			primary.Kill()
			replica.Promote()

			all := []lease.Grant{}
			var end time.Time
			for ns, verb := range verbs {
				l := loans[ns]
				require.NoError(t, verb(t, after, l), ns)
				q := requireQuarantine(t, after, request(ns, 4))
				require.Contains(t, q.Reason, "incarnation of the store changed", ns)
				all = append(all, l.known, l.renewed, l.lost)
				end = q.Until
			}
			replica.ShiftClock(time.Until(end) + time.Second)
			for ns := range verbs {
				for range 4 {
					all = append(all, acquire(t, after, request(ns, 4)))
				}
			}
			requireDisjoint(t, all...)
		})
	}
}
