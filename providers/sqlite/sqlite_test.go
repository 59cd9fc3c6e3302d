package sqlite

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/libtnb/sqlite"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/providers/secret"
	"github.com/snowlease/snowlease/providers/sqldb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDSN(t *testing.T) {
	t.Parallel()
	const busy, wal, tx = "_pragma=busy_timeout(5000)", "_pragma=journal_mode(WAL)", "_txlock=immediate"
	folder, err := os.Getwd()
	require.NoError(t, err)
	for _, c := range []struct {
		dsn, want, address string
		single             bool
	}{
		{"a.db", folder + "/a.db?" + busy + "&" + wal + "&" + tx, "a.db", false},
		{"file:/x/a.db", "file:/x/a.db?" + busy + "&" + wal + "&" + tx, "/x/a.db", false},
		{"a.db?cache=private", folder + "/a.db?cache=private&" + busy + "&" + wal + "&" + tx, "a.db", false},
		{"a.db?_pragma=busy_timeout(1)&_txlock=deferred", folder + "/a.db?_pragma=busy_timeout(1)&_txlock=deferred&" + wal, "a.db", false},
		{"a.db?_pragma=Journal_Mode=DELETE&_pragma=busy_timeout%3d1&_txlock=exclusive", folder + "/a.db?_pragma=Journal_Mode=DELETE&_pragma=busy_timeout%3d1&_txlock=exclusive", "a.db", false},
		{"file:a.db?mode=ro", "file:" + folder + "/a.db?mode=ro&" + busy, "a.db", false},
		{":memory:", ":memory:?" + busy + "&" + tx, ":memory:", true},
		{"file::memory:?cache=shared", "file::memory:?cache=shared&" + busy + "&" + tx, ":memory:", true},
		{"file:x?mode=memory", "file:x?mode=memory&" + busy + "&" + tx, "x", true},
		{"file:/x?vfs=memdb", "file:/x?vfs=memdb&" + busy + "&" + tx, "/x", false},
	} {
		got, err := open(t.Context(), c.dsn, 0)
		require.NoError(t, err)
		require.Equal(t, c.want, got.Dialector.(*sqlite.Dialector).DSN)
		require.Equal(t, c.address, got.Address)
		require.Equal(t, c.single, got.Single)
	}
}

func openDB(t *testing.T, dsn string) *gorm.DB {
	db, err := sqldb.Open(t.Context(), sqldb.Config{Driver: "sqlite", DSN: secret.String(dsn)}, nil, Driver())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sqldb.Close(db)) })
	return db
}

// When two pools write concurrently, every statement and transaction succeeds.
func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	pools := []*gorm.DB{openDB(t, path), openDB(t, "file:"+path)}
	var mode string
	require.NoError(t, pools[1].Raw("PRAGMA journal_mode").Scan(&mode).Error)
	require.Equal(t, "wal", mode)
	require.NoError(t, pools[0].Exec("CREATE TABLE n (v INTEGER)").Error)
	require.NoError(t, pools[0].Exec("INSERT INTO n VALUES (0)").Error)
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			for range 10 {
				errs[i] = pools[i%2].Transaction(func(tx *gorm.DB) error {
					var v int
					if err := tx.Raw("SELECT v FROM n").Scan(&v).Error; err != nil {
						return err
					}
					return tx.Exec("UPDATE n SET v = ?", v+1).Error
				})
				if errs[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	var v int
	require.NoError(t, pools[0].Raw("SELECT v FROM n").Scan(&v).Error)
	require.Equal(t, 80, v)
}

// A database in memory outlives the idle times of its pool.
func TestMemory(t *testing.T) {
	t.Parallel()
	db := openDB(t, ":memory:")
	require.NoError(t, db.Exec("CREATE TABLE n (v INTEGER)").Error)
	pool, err := db.DB()
	require.NoError(t, err)
	require.Equal(t, 1, pool.Stats().MaxOpenConnections)
	require.NoError(t, db.Exec("INSERT INTO n VALUES (0)").Error)
}

func TestUnreadableParameters(t *testing.T) {
	t.Parallel()
	_, err := open(t.Context(), "a.db?x=%zz", time.Second)
	require.ErrorContains(t, err, "its parameters cannot be parsed")
	_, err = open(t.Context(), "${DB_DSN}", time.Second)
	require.ErrorContains(t, err, "it is not the path of a file", "no file of that name is created")
	for _, dsn := range []string{"a.db&_auth_pass=word", "file:a.db;key=word", "a.db&_pragma=key('word')", "host=h password=word"} {
		_, err := open(t.Context(), dsn, 0)
		require.EqualError(t, err, "it is not the path of a file", dsn)
	}
}
