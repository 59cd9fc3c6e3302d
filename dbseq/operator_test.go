package dbseq_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/leasetest"
)

func TestOperator(t *testing.T) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			leasetest.RunOperator(t, func(t testing.TB) leasetest.Store { return newStore(t, e) })
		})
	}
	t.Run("never", func(t *testing.T) {
		t.Parallel()
		leasetest.RunOperator(t, func(t testing.TB) leasetest.Store {
			return newStore(t, engines[0], dbseq.WithQuarantine(lease.QuarantineNever))
		})
	})
	t.Run("by a clock", func(t *testing.T) {
		t.Parallel()
		leasetest.RunOperator(t, func(t testing.TB) leasetest.Store { return newClocked(t) })
	})
}

// An operator's call creates no tables, and its error says what to do.
func TestOperatorWithoutTables(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		c := center(t, e.db(t, dsn))
		_, err := c.Extras().Operator.Record(t.Context(), "orders")
		require.ErrorIs(t, err, lease.ErrUnknown)
		require.ErrorContains(t, err, "there is no table snowlease_meta")
		require.ErrorIs(t, c.Extras().Operator.Revoke(t.Context(), "orders", 0, 1), lease.ErrUnknown)
		_, err = c.Extras().Operator.Quarantine(t.Context(), "orders", "by hand")
		require.ErrorIs(t, err, lease.ErrUnknown)
	})
}

// SQLite stores texts of any length; records show little of them.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	e := engines[0]
	db := e.db(t, e.dsn(t))
	c := center(t, db)
	first(t, c, request("orders", 2))
	long := "\x1b[2J" + strings.Repeat("A", 1<<20)
	rawExec(t, db, "UPDATE snowlease_meta SET reason = ?, former = ? WHERE ns = 'orders'", long, long)
	rec, err := c.Extras().Operator.Record(t.Context(), "orders")
	require.NoError(t, err)
	for _, s := range []string{rec.Reason, rec.Former} {
		require.True(t, strings.HasPrefix(s, "?[2JAAA"))
		require.Less(t, len(s), 600)
	}
}
