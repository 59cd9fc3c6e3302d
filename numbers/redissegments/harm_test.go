//go:build prove

package redissegments_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/redistest"
	"github.com/snowlease/snowlease/numbers/redissegments"
	"github.com/snowlease/snowlease/numbers/segment"
)

func TestHarmedRecords(t *testing.T) {
	t.Parallel()
	redistest.EachHarmed(t, harmedNumbers)
}

func harmedNumbers(t *testing.T, h *redistest.Harmed) {
	s := h.Store
	h.Answers = []error{segment.ErrUnknown, segment.ErrExists, segment.ErrEnd, redissegments.ErrChanged}
	n := newStore(t, s)
	require.NoError(t, n.Create(t.Context(), "orders", 100))
	_, err := n.Reserve(t.Context(), numbers(10))
	require.NoError(t, err)
	require.NoError(t, n.Create(t.Context(), "behind", 1))
	client := s.Client(t)
	dispenser := func() *redissegments.Dispenser {
		d, err := redissegments.NewDispenser(client, n, segment.Config{Name: "behind", Order: segment.OrderStrict, Step: 100, MaxStep: 100})
		require.NoError(t, err)
		return d
	}
	d, req := dispenser(), numbers(1)
	req.Name = "behind"
	given := map[int64]bool{}
	for range 101 { // into the second segment
		r, err := d.Reserve(t.Context(), req)
		require.NoError(t, err)
		given[r.First] = true
	}
	require.NoError(t, d.Close())
	var fields []string
	for _, key := range []string{"snowlease:{orders}:segment", "snowlease:{behind}:dispenser"} {
		for field := range s.Admin.HGetAll(t.Context(), key).Val() {
			fields = append(fields, key+" "+field+" field")
		}
	}
	require.Len(t, fields, 13)
	h.Each(fields, func(what string) {
		before := h.Records(t)
		do := func(verb string, f func(ctx context.Context) error) {
			_ = h.Call(what+": "+verb, before, f)
			before = h.Records(t)
		}
		do("reserve", func(ctx context.Context) error {
			r, err := n.Reserve(ctx, numbers(10))
			if err == nil {
				require.Greater(t, r.First, int64(109), what)
				require.EqualValues(t, 10, r.Len(), what)
			}
			return err
		})
		do("create", func(ctx context.Context) error { return n.Create(ctx, "orders", 5) })
		do("look", func(ctx context.Context) error { _, err := n.Given(ctx, "orders"); return err })
		do("resume", func(ctx context.Context) error { return n.Resume(ctx, "orders", 5) })
		d := dispenser()
		do("dispense", func(ctx context.Context) error {
			r, err := d.Reserve(ctx, req)
			if err == nil {
				require.Positive(t, r.First, what)
				require.GreaterOrEqual(t, r.Last, r.First, what)
				require.False(t, given[r.First], "%s: %d is given twice", what, r.First)
			}
			return err
		})
		require.NoError(t, d.Close()) // and what it does in the background
	})
}
