package redisseq_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/idworker/lease"
	"github.com/snowlease/snowlease/idworker/lease/leasetest"
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
			s := newMini(t, redisseq.WithQuarantine(redisseq.Never))
			s.traits.Incarnation = false
			return s
		})
	})
}

// What no script has written is named, and left as it is.
func TestOperatorFindsDamage(t *testing.T) {
	t.Parallel()
	s := newMini(t)
	c := opened(t, s)
	meta := keys("orders")[3]
	require.NoError(t, s.admin.HSet(t.Context(), meta, "pin", "mine").Err())
	_, err := c.Quarantine(t.Context(), "orders", "by hand")
	require.ErrorContains(t, err, `"mine" is not what a namespace is pinned to`)
	require.NoError(t, s.admin.HSet(t.Context(), meta, "quar", "soon").Err())
	_, err = c.Record(t.Context(), "orders")
	require.ErrorIs(t, err, redisseq.ErrDamaged)
	require.NoError(t, s.admin.HSet(t.Context(), keys("orders")[2], "0", "me").Err())
	require.ErrorIs(t, c.Revoke(t.Context(), "orders", 0, 1), redisseq.ErrDamaged)
	require.NoError(t, s.admin.Del(t.Context(), meta).Err())
	require.NoError(t, s.admin.Set(t.Context(), meta, "x", 0).Err())
	_, err = c.Record(t.Context(), "orders")
	require.ErrorIs(t, err, redisseq.ErrDamaged)
	_, err = c.Quarantine(t.Context(), "orders", "by hand")
	require.NotErrorIs(t, err, lease.ErrUnknown)
}
