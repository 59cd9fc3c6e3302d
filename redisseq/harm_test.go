//go:build prove

package redisseq_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/redistest"
	"github.com/snowlease/snowlease/lease"
)

func TestHarmedRecords(t *testing.T) {
	t.Parallel()
	redistest.EachHarmed(t, harmedLeases)
}

func harmedLeases(t *testing.T, h *redistest.Harmed) {
	s := &store{Store: h.Store}
	c := opened(t, s)
	held := acquire(t, c)
	given := acquire(t, c)
	require.NoError(t, c.Release(t.Context(), given, given.Now))
	k := keys("orders")
	var fields []string
	for _, f := range []string{"pin", "pool", "run", "prev", "quar", "why", "init", "made"} {
		fields = append(fields, k[3]+" "+f+" field")
	}
	fields = append(fields, fmt.Sprintf("%s o:%x field", k[3], held.Owner))
	for _, worker := range []string{"0", "1", "2"} { // held, given back, never lent
		fields = append(fields, k[0]+" "+worker+" score", k[1]+" "+worker+" field", k[2]+" "+worker+" field")
	}
	for part := range 5 {
		fields = append(fields, fmt.Sprintf("%s 0 part%d", k[2], part))
	}
	all := func(what string) {
		before := h.Records(t)
		do := func(verb string, f func(ctx context.Context) error) error {
			err := h.Call(what+": "+verb, before, f)
			if !errors.Is(err, lease.ErrDamaged) {
				before = h.Records(t)
			}
			return err
		}
		_ = do("record", func(ctx context.Context) error { _, err := c.Extras().Operator.Record(ctx, "orders"); return err })
		_ = do("slots", func(ctx context.Context) error { _, err := c.Extras().Lister.Slots(ctx, "orders"); return err })
		_ = do("init", func(ctx context.Context) error { return c.Extras().Init(ctx, request()) })
		_ = do("init again", func(ctx context.Context) error { return c.Extras().Init(ctx, held.Request) })
		_ = do("acquire", func(ctx context.Context) error {
			g, err := c.Acquire(ctx, request())
			if err == nil && g.Worker == held.Worker && g.Floor < held.Ceiling {
				return fmt.Errorf("%v overlaps %v", g, held)
			}
			return err
		})
		_ = do("acquire one", func(ctx context.Context) error {
			g, err := c.Acquire(ctx, request(func(r *lease.Request) { r.Last = 0 }))
			if err == nil && g.Floor < held.Ceiling {
				return fmt.Errorf("%v overlaps %v", g, held)
			}
			return err
		})
		_ = do("acquire again", func(ctx context.Context) error { _, err := c.Acquire(ctx, held.Request); return err })
		g := held
		_ = do("renew", func(ctx context.Context) error {
			r, err := c.Renew(ctx, g)
			if err == nil {
				require.Less(t, r.Ceiling, int64(1e15), what)
				g = r
			}
			return err
		})
		_ = do("quarantine", func(ctx context.Context) error {
			_, err := c.Extras().Operator.Quarantine(ctx, "orders", "by hand")
			return err
		})
		_ = do("revoke", func(ctx context.Context) error { return c.Extras().Operator.Revoke(ctx, "orders", 0, g.Token) })
		_ = do("release", func(ctx context.Context) error { return c.Release(ctx, g, g.Now) })
		_ = do("retire", func(ctx context.Context) error { return c.Extras().Operator.Retire(ctx, "orders", "by hand") })
	}
	h.Each(fields, all)
	h.Each([]string{k[0] + " 3 member", k[1] + " 3 name", k[2] + " 3 name"}, all)

	// The same while missing records are created.
	require.NoError(t, s.Admin.HDel(t.Context(), k[1], "3").Err())
	h.Each([]string{
		k[0] + " 0 score", k[1] + " 0 field", k[2] + " 0 part1", k[3] + " quar field", k[3] + " made field",
		k[3] + " run field", k[3] + " prev field", k[3] + " why field",
	}, all)
	s.Wipe(t)
}

// TestDamageBesideALoss: a call that finds damage does not record a loss.
func TestDamageBesideALoss(t *testing.T) {
	t.Parallel()
	s := newMini(t)
	c := opened(t, s)
	g := acquire(t, c)
	k := keys("orders")
	require.NoError(t, s.Admin.HDel(t.Context(), k[1], "3").Err())
	require.NoError(t, s.Admin.HSet(t.Context(), k[1], "0", "-1").Err())
	before := s.Records(t)
	_, err := c.Renew(t.Context(), g)
	require.ErrorIs(t, err, lease.ErrDamaged)
	require.ErrorIs(t, c.Release(t.Context(), g, g.Now), lease.ErrDamaged)
	require.Equal(t, before, s.Records(t))
}
