package idworker_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// Ids for times past are unique across workers and runs, on worker ids that are lent to
// nobody.
func TestNextIDAt(t *testing.T) {
	cfg := idworker.Config{Namespace: "archive", Layout: business, Business: 1, Reserved: 2}
	db := newSQLite(t, cfg)
	at := time.Date(2021, 5, 6, 7, 8, 9, 10e6, time.UTC)
	seen := make(map[int64]bool)
	for range 2 {
		var w, other *idworker.IdWorker
		a, b := app(t, &w, fx.Supply(cfg, db)), app(t, &other, fx.Supply(cfg, db))
		_, err := w.NextIDAt(t.Context(), at)
		require.ErrorIs(t, err, idworker.ErrNotStarted)
		a.RequireStart()
		b.RequireStart()
		refunds, err := w.For(2)
		require.NoError(t, err)
		for i, w := range []*idworker.IdWorker{w, other, refunds} {
			_, err := w.NextIDAt(t.Context(), at)
			require.ErrorIs(t, err, idworker.ErrTime)
			w = w.Backfill(at.Add(time.Hour))
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
			require.NoError(t, w.Close(t.Context()), "which closes nothing")
		}
		require.Less(t, w.Status().Worker, int64(30))
		_, err = w.NextIDAt(t.Context(), time.Now().Add(time.Hour))
		require.ErrorIs(t, err, idworker.ErrTime)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = w.Backfill(at.Add(time.Hour)).NextIDAt(ended, at)
		require.ErrorIs(t, err, context.Canceled)
		a.RequireStop()
		b.RequireStop()
	}
}

func TestNextIDAtNeedsConfiguration(t *testing.T) {
	c := sqlCenter(t, newSQLite(t))
	w := borrow(t, c, idworker.Config{Namespace: "orders"})
	fixed, err := idworker.Fixed(snowflake.Layout{}, 1)
	require.NoError(t, err)
	for _, w := range []*idworker.IdWorker{w, fixed, w.Backfill(time.Now())} {
		id, err := w.NextIDAt(t.Context(), time.Now())
		require.ErrorIs(t, err, idworker.ErrNoPast)
		require.ErrorContains(t, err, "reserved is 0")
		require.Zero(t, id)
	}
	_, err = idworker.Open(t.Context(), idworker.Config{Namespace: "a-namespace-of-more-than-forty-eight-characters-in-all", Reserved: 1}, c)
	require.ErrorContains(t, err, "1 to 48")
}

// Where no database counts, the start says so, and so does NextIDAt.
func TestReservedWithoutDatabase(t *testing.T) {
	for mode, provided := range map[idworker.Mode]func(testing.TB) fx.Option{
		idworker.ModeRedis:         func(t testing.TB) fx.Option { return universal(newRedis(t, miniredis.RunT(t).Addr())) },
		idworker.ModeRedisSequence: func(t testing.TB) fx.Option { return universal(newRedis(t, miniredis.RunT(t).Addr())) },
		idworker.ModeLocal:         func(testing.TB) fx.Option { return fx.Options() },
	} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			cfg := idworker.Config{Namespace: "orders", Mode: mode, Reserved: 1, Quarantine: idworker.QuarantineNever, MaxAhead: 50 * time.Millisecond, Skew: time.Millisecond}
			if mode == idworker.ModeLocal {
				cfg.Quarantine, cfg.Worker = "", new(int64)
				cfg.Local.Dir = t.TempDir()
			}
			var j journal
			var w *idworker.IdWorker
			a := app(t, &w, fx.Supply(cfg), provided(t), j.provide())
			a.RequireStart()
			defer a.RequireStop()
			require.Regexp(t, `level=WARN msg="no ids for times past" namespace=orders reserved=1 why=".*set mode db.*leave reserved out"`, j.String())
			_, err := w.NextIDAt(t.Context(), time.Now())
			require.ErrorIs(t, err, idworker.ErrNoPast)
			require.ErrorContains(t, err, "set mode db")
		})
	}
}

// Where the table cannot be had the worker starts with a warning, and NextIDAt goes on
// trying.
func TestNextIDAtWithoutItsTable(t *testing.T) {
	cfg := idworker.Config{Namespace: "orders", Reserved: 1}
	db := newSQLite(t, cfg)
	require.NoError(t, db.Exec("DROP TABLE IF EXISTS snowlease_segment").Error)
	require.NoError(t, db.Exec("CREATE TABLE snowlease_segment (name TEXT PRIMARY KEY)").Error)
	var j journal
	var w *idworker.IdWorker
	a := app(t, &w, fx.Supply(cfg, db), j.provide())
	a.RequireStart()
	defer a.RequireStop()
	require.Contains(t, j.String(), `level=WARN msg="no ids for times past: trying again when one is asked for" namespace=orders reserved=1 err=`)
	_, err := w.NextIDAt(t.Context(), time.Now())
	require.ErrorContains(t, err, "max_id")
	require.NoError(t, db.Exec("DROP TABLE snowlease_segment").Error)
	_, err = w.NextIDAt(t.Context(), time.Now())
	require.ErrorIs(t, err, idworker.ErrTime)
}

func sqlCenter(t testing.TB, db *gorm.DB) *dbseq.Center {
	t.Helper()
	c, err := dbseq.New(db)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func borrow(t testing.TB, c *dbseq.Center, cfg idworker.Config) *idworker.IdWorker {
	t.Helper()
	req, err := cfg.Request()
	require.NoError(t, err)
	if err := c.Init(t.Context(), req); !errors.Is(err, lease.ErrExists) {
		require.NoError(t, err)
	}
	w, err := idworker.Open(t.Context(), cfg, c)
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.Close(context.Background()) })
	return w
}

// fill takes n ids for a time, which nobody else had.
func fill(t testing.TB, seen map[int64]bool, w *idworker.IdWorker, at time.Time, n int) {
	t.Helper()
	ids := make([]int64, n)
	require.NoError(t, w.NextIDsAt(t.Context(), at, ids))
	for _, id := range ids {
		require.False(t, seen[id], "%d comes twice", id)
		seen[id] = true
	}
}

// few is a layout of 4 worker ids and 8,192 ids a tick.
var few = snowflake.Layout{WorkerBits: 2, SequenceBits: 13}

// A worker id that was live makes no ids for the time when it was.
func TestReservedOfALiveService(t *testing.T) {
	c := sqlCenter(t, newSQLite(t))
	founded := time.Now()
	live := make([]*idworker.IdWorker, 4)
	seen := map[int64]bool{}
	for i := range live {
		live[i] = borrow(t, c, idworker.Config{Namespace: "orders", Layout: few})
		ids := make([]int64, 1000)
		require.NoError(t, live[i].NextIDs(t.Context(), ids))
		for _, id := range ids {
			seen[id] = true
		}
	}
	for _, w := range live {
		require.NoError(t, w.Close(t.Context()))
	}
	w := borrow(t, c, idworker.Config{Namespace: "orders-2", Layout: few, Reserved: 1})
	for id := range seen {
		p, err := w.Decode(id)
		require.NoError(t, err)
		for _, w := range []*idworker.IdWorker{w, w.Backfill(founded)} {
			_, err = w.NextIDAt(t.Context(), p.Time)
			require.ErrorIs(t, err, idworker.ErrTime)
		}
	}
	fill(t, seen, w.Backfill(founded), founded.Add(-time.Millisecond), 8192)
}

// What ErrFull advises: more reserved worker ids, under another namespace. The counters go
// along, and the first worker id's numbers stay what they were.
func TestMoreReserved(t *testing.T) {
	c := sqlCenter(t, newSQLite(t))
	founded := time.Now()
	at := founded.Add(-24 * time.Hour)
	one := borrow(t, c, idworker.Config{Namespace: "orders", Layout: few, Reserved: 1}).Backfill(founded)
	seen := map[int64]bool{}
	fill(t, seen, one, at, 8192)
	_, err := one.NextIDAt(t.Context(), at)
	require.ErrorIs(t, err, idworker.ErrFull)
	for _, want := range []string{"the 8192 ids of the 1s", "spread", "reserve more worker ids by a new namespace"} {
		require.ErrorContains(t, err, want)
	}
	two := borrow(t, c, idworker.Config{Namespace: "orders-2", Layout: few, Reserved: 2}).Backfill(founded)
	fill(t, seen, two, at, 8192)
	_, err = two.NextIDAt(t.Context(), at)
	require.ErrorIs(t, err, idworker.ErrFull)
}

// docs/growing.md: old and new processes run side by side on two databases. Only those
// make ids for times past whose workers end with the layout's last worker id.
func TestPastMovesToAnotherDatabase(t *testing.T) {
	from, to := newSQLite(t), newSQLite(t)
	founded := time.Now()
	at := founded.Add(-24 * time.Hour)
	seen := map[int64]bool{}
	cfg := idworker.Config{Namespace: "orders", Reserved: 1}
	fill(t, seen, borrow(t, sqlCenter(t, from), cfg).Backfill(founded), at, 100)
	counting(t, from, time.Now().Add(-time.Hour))
	late := borrow(t, sqlCenter(t, from), cfg)
	fill(t, seen, late, time.Now().Add(-time.Minute), 100)
	recent := time.Now().Add(-time.Minute)
	fill(t, seen, late, recent, 100)

	cfg.Workers = "0-15"
	old := borrow(t, sqlCenter(t, from), cfg)
	_, err := old.NextIDAt(t.Context(), recent)
	require.ErrorIs(t, err, idworker.ErrNoPast)
	require.ErrorContains(t, err, `workers "0-15" leaves out the reserved worker ids, 31 to 31`)

	cfg.Workers = "16-31"
	next := borrow(t, sqlCenter(t, to), cfg)
	require.Less(t, next.Status().Pool.Last, int64(31))
	for _, at := range []time.Time{recent, at} {
		_, err = next.NextIDAt(t.Context(), at)
		require.ErrorIs(t, err, idworker.ErrTime)
	}

	// With the table copied they go on where the old ones were.
	copied(t, records(t, from), to)
	next = borrow(t, sqlCenter(t, to), cfg)
	fill(t, seen, next, recent, 100)
	fill(t, seen, next.Backfill(founded), at, 100)
}

// forget is what docs/operations.md has for a restored backup.
const forget = "DELETE FROM snowlease_segment WHERE name LIKE 'since.%'"

// A restored backup does not know of the ids that were made since.
func TestPastAfterARestoredBackup(t *testing.T) {
	text, err := os.ReadFile("../docs/operations.md")
	require.NoError(t, err)
	require.True(t, strings.Contains(string(text), forget), "docs/operations.md says how") //nolint:testifylint // which would print all of it
	for name, open := range map[string]func() *gorm.DB{
		"sqlite":   func() *gorm.DB { return newSQLite(t) },
		"mariadb":  func() *gorm.DB { return openDB(t, mysql.Open(testserver.MySQL(t))) },
		"postgres": func() *gorm.DB { return openDB(t, postgres.Open(testserver.Postgres(t))) },
	} {
		t.Run(name, func(t *testing.T) {
			db := open()
			c := sqlCenter(t, db)
			cfg := idworker.Config{Namespace: "orders", Reserved: 1}
			w := borrow(t, c, cfg)
			require.NoError(t, w.Close(t.Context()))
			counting(t, db, time.Now().Add(-time.Hour))
			backup := records(t, db)
			w = borrow(t, c, cfg)
			at := time.Now().Add(-time.Minute)
			seen := map[int64]bool{}
			fill(t, seen, w, at, 10)
			require.NoError(t, w.Close(t.Context()))

			copied(t, backup, db)
			require.NoError(t, db.Exec(forget).Error)
			w = borrow(t, c, cfg)
			_, err := w.NextIDAt(t.Context(), at)
			require.ErrorIs(t, err, idworker.ErrTime)
			fill(t, seen, w.Backfill(at), at.Add(-time.Hour), 10)
			require.NoError(t, w.Close(t.Context()))
		})
	}
}

// counting lets the store have counted for longer.
func counting(t testing.TB, db *gorm.DB, since time.Time) {
	t.Helper()
	done := db.Exec("UPDATE snowlease_segment SET max_id = ? WHERE name LIKE 'since.%'", since.UnixMilli())
	require.NoError(t, done.Error)
	require.Equal(t, int64(1), done.RowsAffected)
}

// records returns what a database has counted.
func records(t testing.TB, db *gorm.DB) map[string]int64 {
	t.Helper()
	var rows []struct {
		Name  string
		MaxID int64
	}
	require.NoError(t, db.Raw("SELECT name, max_id FROM snowlease_segment").Scan(&rows).Error)
	all := map[string]int64{}
	for _, r := range rows {
		all[r.Name] = r.MaxID
	}
	return all
}

// copied puts records in the place of those of a database.
func copied(t testing.TB, all map[string]int64, db *gorm.DB) {
	t.Helper()
	require.NoError(t, db.Exec("DELETE FROM snowlease_segment").Error)
	for name, last := range maps.All(all) {
		require.NoError(t, db.Exec("INSERT INTO snowlease_segment (name, first_id, max_id, seen_ms) VALUES (?, 1, ?, 1)", name, last).Error)
	}
}
