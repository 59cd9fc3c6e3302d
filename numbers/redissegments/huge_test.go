//go:build prove

package redissegments_test

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/redistest"
	"github.com/snowlease/snowlease/numbers/redissegments"
	"github.com/snowlease/snowlease/numbers/segment"
)

// TestHugeTexts: a text of 60 MB in any field costs a process neither memory nor time.
func TestHugeTexts(t *testing.T) {
	s, _ := redistest.StartReal(t)
	n := newStore(t, s)
	client, req := s.Client(t), numbers(1)
	require.NoError(t, n.Create(t.Context(), "orders", 1))
	req.Name = "orders"
	dispenser := func() *redissegments.Dispenser {
		d, err := redissegments.NewDispenser(client, n, segment.Config{Name: "orders", Order: segment.OrderStrict, Step: 100, MaxStep: 100})
		require.NoError(t, err)
		return d
	}
	d := dispenser()
	_, err := d.Reserve(t.Context(), req)
	require.NoError(t, err)
	require.NoError(t, d.Close())
	restore := s.Snapshot(t)
	huge := strings.Repeat("9", 60<<20)
	for _, key := range []string{"snowlease:{orders}:segment", "snowlease:{orders}:dispenser"} {
		fields := s.Admin.HGetAll(t.Context(), key).Val()
		require.NotEmpty(t, fields, key)
		for field := range fields {
			restore()
			require.NoError(t, s.Admin.HSet(t.Context(), key, field, huge).Err())
			for verb, call := range map[string]func(context.Context) error{
				"reserve": func(ctx context.Context) error { _, err := n.Reserve(ctx, req); return err },
				"create":  func(ctx context.Context) error { return n.Create(ctx, "orders", 5) },
				"look":    func(ctx context.Context) error { _, err := n.Given(ctx, "orders"); return err },
				"resume":  func(ctx context.Context) error { return n.Resume(ctx, "orders", 5) },
				"dispense": func(ctx context.Context) error {
					d := dispenser()
					_, err := d.Reserve(ctx, req)
					require.NoError(t, d.Close())
					return err
				},
			} {
				what := key + " " + field + ": " + verb
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				err := call(t.Context())
				runtime.ReadMemStats(&after)
				require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20), what)
				if err != nil {
					require.Less(t, len(err.Error()), 1500, what)
				}
			}
		}
	}
	s.Wipe(t)
}
