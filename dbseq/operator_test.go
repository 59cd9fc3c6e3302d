package dbseq_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/idworker/lease"
	"github.com/snowlease/snowlease/idworker/lease/leasetest"
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
			return newStore(t, engines[0], dbseq.WithQuarantine(dbseq.Never))
		})
	})
}

// An operator creates no tables and says what there is to do.
func TestOperatorWithoutTables(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		c := center(t, e.db(t, dsn))
		_, err := c.Record(t.Context(), "orders")
		require.ErrorIs(t, err, lease.ErrUnknown)
		require.ErrorContains(t, err, "there is no table snowlease_meta")
		require.ErrorIs(t, c.Revoke(t.Context(), "orders", 0, 1), lease.ErrUnknown)
		_, err = c.Quarantine(t.Context(), "orders", "by hand")
		require.ErrorIs(t, err, lease.ErrUnknown)
	})
}
