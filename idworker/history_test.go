package idworker_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/dbseq/gormdb"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers/history"
)

// backdated populates the issuer of backdated ids.
func backdated(i **history.Issuer) fx.Option { return fx.Populate(i) }

// Backdated ids are unique across workers and restarts. They carry worker ids that are
// never lent.
func TestNextIDAt(t *testing.T) {
	cfg := idworker.Config{Namespace: "archive", Layout: business, Business: 1, Reserved: 2}
	db := newSQLite(t, cfg)
	at := time.Date(2021, 5, 6, 7, 8, 9, 10e6, time.UTC)
	seen := make(map[int64]bool)
	for range 2 {
		var w, other *idworker.IdWorker
		var past, others *history.Issuer
		a, b := app(t, &w, fx.Supply(cfg, db), backdated(&past)), app(t, &other, fx.Supply(cfg, db), backdated(&others))
		_, err := past.NextIDAt(t.Context(), at)
		require.ErrorIs(t, err, snowlease.ErrNotStarted)
		a.RequireStart()
		b.RequireStart()
		refunds, err := past.For(2)
		require.NoError(t, err)
		for i, s := range []*history.Issuer{past, others, refunds} {
			_, err := s.NextIDAt(t.Context(), at)
			require.ErrorIs(t, err, history.ErrTime)
			s = s.Backfill(at.Add(time.Hour))
			ids := make([]int64, 20)
			require.NoError(t, s.NextIDsAt(t.Context(), at, ids))
			one, err := s.NextIDAt(t.Context(), at)
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
		_, err = past.NextIDAt(t.Context(), time.Now().Add(time.Hour))
		require.ErrorIs(t, err, history.ErrTime)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = past.Backfill(at.Add(time.Hour)).NextIDAt(ended, at)
		require.ErrorIs(t, err, context.Canceled)
		a.RequireStop()
		b.RequireStop()
		_, err = past.Backfill(at.Add(time.Hour)).NextIDAt(t.Context(), at)
		require.ErrorIs(t, err, snowlease.ErrClosed)
	}
}

func TestNextIDAtNeedsConfiguration(t *testing.T) {
	c := sqlCenter(t, newSQLite(t))
	cfg := idworker.Config{Namespace: "orders"}
	w := borrow(t, c, cfg)
	fixed, err := snowlease.Fixed(1, snowlease.Config{})
	require.NoError(t, err)
	for _, w := range []*idworker.IdWorker{w, fixed} {
		past, err := idworker.History(cfg, w)
		require.ErrorContains(t, err, "no backdated ids: reserved is 0")
		require.Nil(t, past)
	}
	var past *history.Issuer
	err = fx.New(fx.NopLogger, idworker.Module, fx.Supply(cfg), centered(c), backdated(&past)).Err()
	require.ErrorContains(t, err, "no backdated ids: reserved is 0")

	cfg.Reserved = 1
	_, err = idworker.History(cfg, fixed)
	require.ErrorContains(t, err, "fixed cannot count them in a SQL database")
	cfg.Mode = "x"
	_, err = idworker.History(cfg, w)
	require.ErrorContains(t, err, "snowlease: config: mode")
}

// Without a database that counts, the start logs a warning, and there is no issuer.
func TestReservedWithoutDatabase(t *testing.T) {
	for mode, provided := range map[idworker.Mode]func(testing.TB) fx.Option{
		idworker.ModeRedis:         func(t testing.TB) fx.Option { return universal(newRedis(t, miniredis.RunT(t).Addr())) },
		idworker.ModeRedisSequence: func(t testing.TB) fx.Option { return universal(newRedis(t, miniredis.RunT(t).Addr())) },
		idworker.ModeLocal:         func(testing.TB) fx.Option { return fx.Options() },
	} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			cfg := idworker.Config{Namespace: "orders", Mode: mode, Reserved: 1, Store: idworker.StoreConfig{Durable: true, Skew: time.Millisecond}, MaxAhead: 50 * time.Millisecond}
			if mode == idworker.ModeLocal {
				cfg.Store, cfg.Local.Worker = idworker.StoreConfig{}, new(int64)
				cfg.Local.Dir = t.TempDir()
			}
			var j journal
			var w *idworker.IdWorker
			a := app(t, &w, fx.Supply(cfg), provided(t), j.provide())
			a.RequireStart()
			defer a.RequireStop()
			require.Regexp(t, `level=WARN msg="no backdated ids" namespace=orders reserved=1 err=".*set mode db.*leave reserved out"`, j.String())
			_, err := idworker.History(cfg, w)
			require.ErrorContains(t, err, "no backdated ids: "+w.Status().Center+" cannot count them")
			require.ErrorContains(t, err, "set mode db")
			var past *history.Issuer
			err = fx.New(fx.NopLogger, idworker.Module, fx.Supply(cfg), provided(t), backdated(&past)).Err()
			require.ErrorContains(t, err, "set mode db")
		})
	}
}

// If the table cannot be created, the worker starts with a warning, and NextIDAt tries
// again.
func TestNextIDAtWithoutItsTable(t *testing.T) {
	cfg := idworker.Config{Namespace: "orders", Reserved: 1}
	db := newSQLite(t, cfg)
	require.NoError(t, db.Exec("DROP TABLE IF EXISTS snowlease_segment").Error)
	require.NoError(t, db.Exec("CREATE TABLE snowlease_segment (name TEXT PRIMARY KEY)").Error)
	var j journal
	var w *idworker.IdWorker
	var past *history.Issuer
	a := app(t, &w, fx.Supply(cfg, db), j.provide(), backdated(&past))
	a.RequireStart()
	defer a.RequireStop()
	require.Contains(t, j.String(), `level=WARN msg="no backdated ids" namespace=orders reserved=1 err="the next NextIDAt tries again: `)
	_, err := past.NextIDAt(t.Context(), time.Now())
	require.ErrorContains(t, err, "max_id")
	require.NoError(t, db.Exec("DROP TABLE snowlease_segment").Error)
	_, err = past.NextIDAt(t.Context(), time.Now())
	require.ErrorIs(t, err, history.ErrTime)
}

func sqlCenter(t testing.TB, db *gorm.DB) *dbseq.Center {
	t.Helper()
	c, err := gormdb.Center(db)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func borrow(t testing.TB, c *dbseq.Center, cfg idworker.Config) *idworker.IdWorker {
	t.Helper()
	req, err := cfg.Request()
	require.NoError(t, err)
	if err := c.Extras().Init(t.Context(), req); !errors.Is(err, lease.ErrExists) {
		require.NoError(t, err)
	}
	w, err := idworker.Open(t.Context(), cfg, idworker.Clients{Center: c})
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// issuer borrows a worker id, and returns the issuer beside it.
func issuer(t testing.TB, c *dbseq.Center, cfg idworker.Config) *history.Issuer {
	t.Helper()
	i, err := idworker.History(cfg, borrow(t, c, cfg))
	require.NoError(t, err)
	return i
}

// fill takes n ids for a time and checks that they are new.
func fill(t testing.TB, seen map[int64]bool, s *history.Issuer, at time.Time, n int) {
	t.Helper()
	ids := make([]int64, n)
	require.NoError(t, s.NextIDsAt(t.Context(), at, ids))
	for _, id := range ids {
		require.False(t, seen[id], "%d comes twice", id)
		seen[id] = true
	}
}

// Old and new processes run side by side on two databases, as in docs/upgrade.md. Only
// processes whose workers end with the layout's last worker id make backdated ids.
func TestPastMovesToAnotherDatabase(t *testing.T) {
	from, to := newSQLite(t), newSQLite(t)
	founded := time.Now()
	at := founded.Add(-24 * time.Hour)
	seen := map[int64]bool{}
	cfg := idworker.Config{Namespace: "orders", Reserved: 1}
	fill(t, seen, issuer(t, sqlCenter(t, from), cfg).Backfill(founded), at, 100)
	counting(t, from, time.Now().Add(-time.Hour))
	late := issuer(t, sqlCenter(t, from), cfg)
	fill(t, seen, late, time.Now().Add(-time.Minute), 100)
	recent := time.Now().Add(-time.Minute)
	fill(t, seen, late, recent, 100)

	cfg.Workers = "0-15"
	old := borrow(t, sqlCenter(t, from), cfg)
	_, err := idworker.History(cfg, old)
	require.ErrorContains(t, err, `no backdated ids: workers "0-15" leaves out the reserved worker ids, 31 to 31`)

	cfg.Workers = "16-31"
	w := borrow(t, sqlCenter(t, to), cfg)
	require.Less(t, w.Status().Pool.Last, int64(31))
	next, err := idworker.History(cfg, w)
	require.NoError(t, err)
	for _, at := range []time.Time{recent, at} {
		_, err = next.NextIDAt(t.Context(), at)
		require.ErrorIs(t, err, history.ErrTime)
	}

	// Once the table is copied, they continue where the old ones stopped.
	copied(t, from, to)
	next = issuer(t, sqlCenter(t, to), cfg)
	fill(t, seen, next, recent, 100)
	fill(t, seen, next.Backfill(founded), at, 100)
}

// counting makes the store look as if it had counted for longer.
func counting(t testing.TB, db *gorm.DB, since time.Time) {
	t.Helper()
	done := db.Exec("UPDATE snowlease_segment SET max_id = ? WHERE name LIKE '/since.%'", since.UnixMilli()<<20) // package history counts the readers in the low bits
	require.NoError(t, done.Error)
	require.Equal(t, int64(1), done.RowsAffected)
}

// copied replaces the records of a database by those of another one.
func copied(t testing.TB, from, to *gorm.DB) {
	t.Helper()
	var rows []map[string]any
	require.NoError(t, from.Table("snowlease_segment").Find(&rows).Error)
	require.NotEmpty(t, rows)
	require.NoError(t, to.Exec("DELETE FROM snowlease_segment").Error)
	require.NoError(t, to.Table("snowlease_segment").Create(rows).Error)
}
