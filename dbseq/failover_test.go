//go:build prove

package dbseq_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

func requireQuarantine(t *testing.T, c lease.Center, req lease.Request) *lease.QuarantineError {
	t.Helper()
	_, err := c.Acquire(t.Context(), req)
	var q *lease.QuarantineError
	require.ErrorAs(t, err, &q)
	return q
}

// TestPromotion promotes a replica that missed some grants. Holders and newcomers notice, and later
// grants lie above everything that may be in use.
func TestPromotion(t *testing.T) {
	t.Parallel()
	// dbseq refuses STATEMENT as the format of MySQL's binary log.
	for _, c := range [][2]string{{"mariadb", "MIXED"}, {"mariadb", "ROW"}, {"mariadb", "STATEMENT"}, {"mysql", "MIXED"}, {"mysql", "ROW"}} {
		t.Run(c[0]+"/"+c[1], func(t *testing.T) {
			t.Parallel()
			e, p := servers[c[0]], pairs[c[0]](t, "--binlog-format="+c[1])
			before, after := center(t, e.db(t, p.primary.DSN())), center(t, e.db(t, p.replica.DSN()))
			ask := func() lease.Request {
				req := request("orders", 4)
				req.MaxLead = req.MaxTTL - 250*time.Millisecond
				return req
			}
			known, renewed := first(t, before, ask()), acquire(t, before, ask())
			p.follow()
			p.cut()
			if c[1] != "STATEMENT" { // under STATEMENT, replicas record their own name with the primary's id
				want, err := before.Extras().Operator.Incarnation(t.Context(), "orders")
				require.NoError(t, err)
				r, err := after.Extras().Operator.Record(t.Context(), "orders")
				require.NoError(t, err)
				require.Equal(t, want, r.Incarnation, "rows are replicated, not statements")
			}
			lost := acquire(t, before, ask())
			extended, err := before.Renew(t.Context(), renewed)
			require.NoError(t, err)
			p.primary.Kill()
			p.promote()

			_, err = after.Renew(t.Context(), known)
			require.True(t, quarantined(err), err)
			_, err = after.Renew(t.Context(), lost)
			require.ErrorIs(t, err, lease.ErrLost)
			require.ErrorIs(t, after.Release(t.Context(), lost, lost.Ceiling), lease.ErrLost)
			q := requireQuarantine(t, after, ask())
			require.Contains(t, q.Reason, "incarnation of the store changed")
			all := []lease.Grant{known, extended, lost}
			p.replica.ShiftClock(time.Until(q.Until) + time.Second)
			for _, g := range []lease.Grant{known, extended} {
				g, err := after.Renew(t.Context(), g)
				require.NoError(t, err)
				all = append(all, g)
			}
			p.replica.ShiftClock(time.Hour)
			for range 4 {
				all = append(all, acquire(t, after, ask()))
			}
			requireDisjoint(t, all...)
		})
	}
}
