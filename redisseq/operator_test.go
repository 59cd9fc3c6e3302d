package redisseq_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/leasetest"
	"github.com/snowlease/snowlease/redisseq"
)

func TestOperator(t *testing.T) {
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			leasetest.RunOperator(t, func(t testing.TB) leasetest.Store { return engine(t) })
		})
	}
	t.Run("never", func(t *testing.T) {
		t.Parallel()
		leasetest.RunOperator(t, func(t testing.TB) leasetest.Store {
			s := newMini(t, redisseq.WithQuarantine(lease.QuarantineNever))
			s.withoutIncarnation = true
			return s
		})
	})
}

// The error names a record that no script wrote, and the record stays.
func TestOperatorFindsDamage(t *testing.T) {
	t.Parallel()
	s := newMini(t)
	c := opened(t, s)
	meta := keys("orders")[3]
	require.NoError(t, s.Admin.HSet(t.Context(), meta, "pin", "mine").Err())
	_, err := c.Extras().Operator.Quarantine(t.Context(), "orders", "by hand")
	require.ErrorContains(t, err, `"mine" is not a valid pin`)
	require.NoError(t, s.Admin.HSet(t.Context(), meta, "quar", "soon").Err())
	_, err = c.Extras().Operator.Record(t.Context(), "orders")
	require.ErrorIs(t, err, lease.ErrDamaged)
	require.NoError(t, s.Admin.HSet(t.Context(), meta, "pin", request().Pin().String(), "quar", "0", "made", request().Pool+1).Err())
	_, err = c.Extras().Operator.Record(t.Context(), "orders")
	require.ErrorIs(t, err, lease.ErrDamaged)
	require.NoError(t, s.Admin.HSet(t.Context(), keys("orders")[2], "0", "me").Err())
	require.ErrorIs(t, c.Extras().Operator.Revoke(t.Context(), "orders", 0, 1), lease.ErrDamaged)
	require.NoError(t, s.Admin.Del(t.Context(), meta).Err())
	require.NoError(t, s.Admin.Set(t.Context(), meta, "x", 0).Err())
	_, err = c.Extras().Operator.Record(t.Context(), "orders")
	require.ErrorIs(t, err, lease.ErrDamaged)
	_, err = c.Extras().Operator.Quarantine(t.Context(), "orders", "by hand")
	require.NotErrorIs(t, err, lease.ErrUnknown)
}
