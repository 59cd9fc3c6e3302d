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

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/snowflake"
)

const worker = 21

func newPlugin(t *testing.T) gorm.Plugin {
	w, err := snowlease.Fixed(worker, snowlease.Config{})
	require.NoError(t, err)
	return gormplugin.New(w, gormplugin.Config{})
}

// newDatabase returns the DSN of an empty database, and a connection to it without GORM.
func newDatabase(t *testing.T) (string, *sql.DB) {
	dsn := filepath.Join(t.TempDir(), "test.db") + "?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)"
	db, err := sql.Open("sqlite", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return dsn, db
}

func open(t *testing.T, dsn string) *gorm.DB { return openOn(t, sqlite.Open(dsn), gorm.Config{}) }

func openOn(t *testing.T, d gorm.Dialector, cfg gorm.Config) *gorm.DB {
	cfg.Logger = logger.Discard
	db, err := gorm.Open(d, &cfg)
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
