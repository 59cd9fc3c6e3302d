package idworker_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/idworker"
)

// Ids for times past are unique across workers and runs, on worker ids that are lent to
// nobody.
func TestNextIDAt(t *testing.T) {
	db := newSQLite(t)
	at := time.Date(2021, 5, 6, 7, 8, 9, 10e6, time.UTC)
	seen := make(map[int64]bool)
	for range 2 {
		cfg := idworker.Config{Namespace: "archive", Layout: business, Business: 1, Reserved: 2}
		var w, other *idworker.IdWorker
		a, b := app(t, &w, fx.Supply(cfg, db)), app(t, &other, fx.Supply(cfg, db))
		a.RequireStart()
		b.RequireStart()
		refunds, err := w.For(2)
		require.NoError(t, err)
		for i, w := range []*idworker.IdWorker{w, other, refunds} {
			ids := make([]int64, 20)
			require.NoError(t, w.NextIDsAt(t.Context(), at, ids))
			one, err := w.NextIDAt(t.Context(), at)
			require.NoError(t, err)
			for _, id := range append(ids, one) {
				p, err := w.Decode(id)
				require.NoError(t, err)
				require.True(t, p.Time.Equal(at), p.Time)
				require.Equal(t, int64(1+i/2), p.Business)
				require.GreaterOrEqual(t, p.Worker, int64(30))
				require.False(t, seen[id], id)
				seen[id] = true
			}
		}
		require.Less(t, w.Status().Worker, int64(30))
		_, err = w.NextIDAt(t.Context(), time.Now().Add(time.Hour))
		require.ErrorIs(t, err, idworker.ErrTime)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = w.NextIDAt(ended, at)
		require.ErrorIs(t, err, context.Canceled)
		a.RequireStop()
		b.RequireStop()
	}
}

func TestNextIDAtNeedsConfiguration(t *testing.T) {
	c, err := dbseq.New(newSQLite(t))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	w, err := idworker.Open(t.Context(), idworker.Config{Namespace: "orders"}, c)
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.Close(t.Context()) })
	id, err := w.NextIDAt(t.Context(), time.Now())
	require.ErrorIs(t, err, idworker.ErrNoPast)
	require.Zero(t, id)
	_, err = idworker.Open(t.Context(), idworker.Config{Namespace: "a-namespace-of-more-than-forty-eight-characters-in-all", Reserved: 1}, c)
	require.ErrorContains(t, err, "1 to 48")
}
