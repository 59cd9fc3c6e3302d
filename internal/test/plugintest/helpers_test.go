package plugintest

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/libtnb/sqlite"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/snowflake"
)

const worker = 21

// newPlugin returns the plugin with a real generator that holds a lease for an hour.
func newPlugin(t *testing.T) *gormplugin.Plugin {
	g, err := generator.New(snowflake.Layout{})
	require.NoError(t, err)
	now := time.Now().UnixMilli()
	_, err = g.Adopt(generator.Range{Worker: worker, Floor: now - 1, Ceiling: now + time.Hour.Milliseconds(), Now: now, At: g.Elapsed()})
	require.NoError(t, err)
	return gormplugin.New(g, gormplugin.Config{})
}

// newDatabase returns the DSN of an empty database, and a connection to it without GORM.
func newDatabase(t *testing.T) (string, *sql.DB) {
	dsn := filepath.Join(t.TempDir(), "test.db") + "?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)"
	db, err := sql.Open("sqlite", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return dsn, db
}

func open(t *testing.T, dsn string) *gorm.DB {
	db, err := gorm.Open(sqlite.Open(dsn), &gorm.Config{Logger: logger.Discard})
	require.NoError(t, err)
	pool, err := db.DB()
	require.NoError(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	return db
}

// stored checks that the table has exactly these keys, and that they are current ids
// of this worker.
func stored(t *testing.T, db *sql.DB, table string, want ...int64) {
	t.Helper()
	rows, err := db.Query("SELECT id FROM " + table)
	require.NoError(t, err)
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		require.NoError(t, rows.Scan(&id))
		parts, err := snowflake.Layout{}.Decode(id)
		require.NoError(t, err)
		require.EqualValues(t, worker, parts.Worker)
		require.WithinDuration(t, time.Now(), parts.Time, time.Minute)
		ids = append(ids, id)
	}
	require.NoError(t, rows.Err())
	require.ElementsMatch(t, want, ids)
}
