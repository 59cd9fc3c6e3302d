package redisseq_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
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

// Like TestMend of dbseq.
func TestMend(t *testing.T) {
	t.Parallel()
	const year3000 = 32503680000000
	eachEngine(t, func(t *testing.T, s *store) {
		two := func(r *lease.Request) { r.Pool, r.Last = 2, 1 }
		c, k := opened(t, s, two), keys("orders")
		dead, live := acquire(t, c, two), acquire(t, c, two)
		ctx, far := t.Context(), fmt.Sprint(int64(year3000))
		set := func(expires, mark, quarantine int64) {
			require.NoError(t, s.Admin.ZAdd(ctx, k[0], redis.Z{Member: dead.Worker, Score: float64(expires)}).Err())
			require.NoError(t, s.Admin.HSet(ctx, k[1], dead.Worker, mark).Err())
			require.NoError(t, s.Admin.HSet(ctx, k[3], "quar", quarantine).Err())
		}
		set(year3000, year3000, year3000)
		require.NoError(t, s.Admin.ZAdd(ctx, k[0], redis.Z{Member: live.Worker, Score: year3000}).Err())
		require.NoError(t, s.Admin.HSet(ctx, k[2], dead.Worker, strings.Join([]string{"aa", far, far, far, "x"}, "|")).Err())

		require.NoError(t, c.Extras().Operator.Mend(ctx, "orders", 0))
		rec, err := c.Extras().Operator.Record(ctx, "orders")
		require.NoError(t, err)
		hold := (live.MaxTTL + live.Skew).Milliseconds()
		require.True(t, rec.Quarantined())
		require.LessOrEqual(t, rec.Quarantine, rec.Now+hold)
		slots, err := c.Extras().Lister.Slots(ctx, "orders")
		require.NoError(t, err)
		for _, slot := range slots {
			require.LessOrEqual(t, slot.Expires, slot.Now+hold)
			require.Greater(t, slot.Expires, slot.Now)
		}
		require.Equal(t, int64(year3000), slots[dead.Worker].Mark, "its lease runs")

		set(rec.Now-1, year3000, 0)
		require.NoError(t, c.Extras().Operator.Mend(ctx, "orders", 0))
		slots, err = c.Extras().Lister.Slots(ctx, "orders")
		require.NoError(t, err)
		slot := slots[dead.Worker]
		require.Greater(t, slot.Mark, slot.Now)
		require.LessOrEqual(t, max(slot.Mark, slot.Token), slot.Now+hold)
		require.Zero(t, slot.Since)
		live = renew(t, c, live)
		require.LessOrEqual(t, live.Ceiling, live.Now+hold)

		set(rec.Now-2, rec.Now-2, rec.Now-2) // passed
		s.Sleep(5 * time.Millisecond)
		next := acquire(t, c, two)
		require.Equal(t, dead.Worker, next.Worker)
		require.Less(t, next.Token, int64(year3000))
	})
}
