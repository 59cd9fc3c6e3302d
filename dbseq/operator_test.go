package dbseq_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/lease/leasetest"
)

func TestOperator(t *testing.T) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			leasetest.RunOperator(t, stores(t, e))
		})
	}
	t.Run("never", func(t *testing.T) {
		t.Parallel()
		leasetest.RunOperator(t, stores(t, engines[0], dbseq.WithDurable(true)))
	})
	t.Run("by a clock", func(t *testing.T) {
		t.Parallel()
		leasetest.RunOperator(t, byAClock)
	})
}

// SQLite stores texts of any length; records show little of them.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	db := engines[0].db(t, engines[0].dsn(t))
	c := center(t, db)
	first(t, c, request("orders", 2))
	long := "\x1b[2J" + strings.Repeat("A", 1<<20)
	rawExec(t, db, "UPDATE snowlease_meta SET reason = ?, former = ?", long, long)
	rec, err := c.Extras().Operator.Record(t.Context(), "orders")
	require.NoError(t, err)
	for _, s := range []string{rec.Reason, rec.Former} {
		require.True(t, strings.HasPrefix(s, "?[2JAAA"))
		require.Less(t, len(s), 600)
	}
}
