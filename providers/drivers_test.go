package providers_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/libtnb/sqlite"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx/fxtest"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	mysqldriver "github.com/snowlease/snowlease/providers/internal/mysql"
	pgdriver "github.com/snowlease/snowlease/providers/internal/postgres"
	sqlitedriver "github.com/snowlease/snowlease/providers/internal/sqlite"
	"github.com/snowlease/snowlease/providers/internal/sqlopen"
	"github.com/snowlease/snowlease/providers/secret"
	"github.com/snowlease/snowlease/providers/sqldb"
)

var drivers = []sqlopen.Driver{mysqldriver.Driver(), pgdriver.Driver(), sqlitedriver.Driver()}

// opened returns what a driver makes of a DSN. Nothing is dialed.
func opened(t *testing.T, driver, dsn string) (sqlopen.Target, error) {
	t.Helper()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, d := range drivers {
		if d.Name == driver {
			target, err := d.Open(ended, dsn, 6500*time.Millisecond)
			require.Equal(t, driver == "mysql" && err == nil, errors.Is(target.Err, context.Canceled), "only mysql asks the server")
			return target, err
		}
	}
	t.Fatal(driver)
	return sqlopen.Target{}, nil
}

// A driver adds its defaults to a DSN and keeps the rest, and names the database without
// user, password and parameters.
func TestDSN(t *testing.T) {
	t.Parallel()
	const busy, wal, tx = "_pragma=busy_timeout(5000)", "_pragma=journal_mode(WAL)", "_txlock=immediate"
	folder, err := os.Getwd()
	require.NoError(t, err)
	for _, c := range []struct{ driver, dsn, address, want string }{
		{"mysql", "app:w@rd@tcp(127.0.0.1:3307)/orders", "127.0.0.1:3307/orders", "app:w@rd@tcp(127.0.0.1:3307)/orders?parseTime=true&timeout=6.5s"},
		{"mysql", "app@tcp(db)/orders?parseTime=false&timeout=1s", "db:3306/orders", "app@tcp(db:3306)/orders?timeout=1s"},
		{"mysql", "/orders?parseTime=true", "127.0.0.1:3306/orders", "tcp(127.0.0.1:3306)/orders?parseTime=true&timeout=6.5s"},
		{"mysql", "unix(/run/mysqld.sock)/orders", "/run/mysqld.sock/orders", "unix(/run/mysqld.sock)/orders?parseTime=true&timeout=6.5s"},
		{"mysql", "app@tcp(h:1)/a;password=word", "h:1", "app@tcp(h:1)/a%3Bpassword=word?parseTime=true&timeout=6.5s"},
		{"postgres", "postgres://app:w%40rd@127.0.0.1:5433/orders", "127.0.0.1:5433/orders", "postgres://app:w%40rd@127.0.0.1:5433/orders?connect_timeout=7"},
		{"postgres", "postgresql://app@db/orders?sslmode=disable", "db:5432/orders", "postgresql://app@db/orders?sslmode=disable&connect_timeout=7"},
		{"postgres", "postgres://app@db/orders?connect_timeout=9", "db:5432/orders", "postgres://app@db/orders?connect_timeout=9"},
		{"postgres", "host=db user=app password=word dbname=orders", "db:5432/orders", "connect_timeout=7 host=db user=app password=word dbname=orders"},
		{"postgres", "host=db dbname=orders connect_timeout=9", "db:5432/orders", "host=db dbname=orders connect_timeout=9"},
		{"postgres", "host=db dbname=app;password=word user=", "db:5432", "connect_timeout=7 host=db dbname=app;password=word user="},
		{"sqlite", "a.db", "a.db", folder + "/a.db?" + busy + "&" + wal + "&" + tx},
		{"sqlite", "file:/x/a.db", "/x/a.db", "file:/x/a.db?" + busy + "&" + wal + "&" + tx},
		{"sqlite", "a.db?cache=private", "a.db", folder + "/a.db?cache=private&" + busy + "&" + wal + "&" + tx},
		{"sqlite", "a.db?_pragma=busy_timeout(1)&_txlock=deferred", "a.db", folder + "/a.db?_pragma=busy_timeout(1)&_txlock=deferred&" + wal},
		{"sqlite", "a.db?_pragma=Journal_Mode=DELETE&_pragma=busy_timeout%3d1&_txlock=exclusive", "a.db", folder + "/a.db?_pragma=Journal_Mode=DELETE&_pragma=busy_timeout%3d1&_txlock=exclusive"},
		{"sqlite", "file:a.db?mode=ro", "a.db", "file:" + folder + "/a.db?mode=ro&" + busy},
		{"sqlite", ":memory:", ":memory:", ":memory:?" + busy + "&" + tx},
		{"sqlite", "file::memory:?cache=shared", ":memory:", "file::memory:?cache=shared&" + busy + "&" + tx},
		{"sqlite", "file:x?mode=memory", "x", "file:x?mode=memory&" + busy + "&" + tx},
		{"sqlite", "file:/x?vfs=memdb", "/x", "file:/x?vfs=memdb&" + busy + "&" + tx},
	} {
		got, err := opened(t, c.driver, c.dsn)
		require.NoError(t, err, c.dsn)
		require.Equal(t, c.address, got.Address, c.dsn)
		var dsn string
		switch d := got.Dialector.(type) {
		case *mysql.Dialector:
			dsn = d.DSN
		case *postgres.Dialector:
			dsn = d.DSN
		case *sqlite.Dialector:
			dsn = d.DSN
			require.Equal(t, c.dsn == ":memory:" || c.dsn == "file::memory:?cache=shared" || c.dsn == "file:x?mode=memory", got.Single, c.dsn)
		}
		require.Equal(t, c.want, dsn, c.dsn)
	}
	for dsn, want := range map[string]string{
		"a.db?x=%zz": "its parameters cannot be parsed", "${DB_DSN}": "it is not the path of a file", "host=h password=word": "it is not the path of a file",
		"a.db&_auth_pass=word": "it is not the path of a file", "file:a.db;key=word": "it is not the path of a file", "a.db&_pragma=key('word')": "it is not the path of a file",
	} {
		_, err := opened(t, "sqlite", dsn)
		require.EqualError(t, err, want, dsn)
	}
}

// A DSN has one driver, although its password may look like the form of another.
func TestDriverOfADSN(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"user:word@tcp(db:3306)/shop":                        "mysql",
		"user:word@/shop":                                    "mysql",
		"app:host=1@tcp(127.0.0.1:3306)/shop":                "mysql",
		"postgres://app:word@db/shop":                        "postgres",
		"postgres://app:word@/shop?host=/var/run/postgresql": "postgres",
		"postgresql://app:word@/shop":                        "postgres",
		"host=db user=app password=ab@/cd dbname=shop":       "postgres",
		"dbname = shop password=a@tcp(b":                     "postgres",
		"data/app.db":                                        "sqlite",
		"file:app.db?_pragma=busy_timeout(1000)":             "sqlite",
		":memory:":                                           "sqlite",
		"redis://db:6379":                                    "",
	} {
		for range 20 {
			require.Equal(t, want, sqldb.Config{DSN: secret.String(dsn)}.WithDefaults().Driver, dsn)
		}
	}
}

func openDB(t *testing.T, dsn string) *gorm.DB {
	t.Helper()
	db, err := openConfig(t, sqldb.Config{DSN: secret.String(dsn)})
	require.NoError(t, err)
	return db
}

// openConfig opens a database as the modules do, until the end of the test.
func openConfig(t *testing.T, c sqldb.Config) (*gorm.DB, error) {
	t.Helper()
	lifecycle := fxtest.NewLifecycle(t)
	db, err := sqlopen.New(drivers...)(sqlopen.Params{Config: c, Lifecycle: lifecycle})
	if err == nil {
		lifecycle.RequireStart()
		t.Cleanup(func() { lifecycle.RequireStop() })
	}
	return db, err
}

// When two pools write one SQLite file concurrently, every transaction succeeds.
func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	pools := []*gorm.DB{openDB(t, path), openDB(t, "file:"+path)}
	var mode string
	require.NoError(t, pools[1].Raw("PRAGMA journal_mode").Scan(&mode).Error)
	require.Equal(t, "wal", mode)
	require.NoError(t, pools[0].Exec("CREATE TABLE n AS SELECT 0 AS v").Error)
	var wg sync.WaitGroup
	errs := make([]error, 80)
	for i := range 8 {
		wg.Go(func() {
			for j := range 10 {
				errs[10*i+j] = pools[i%2].Transaction(func(tx *gorm.DB) error {
					var v int
					if err := tx.Raw("SELECT v FROM n").Scan(&v).Error; err != nil {
						return err
					}
					return tx.Exec("UPDATE n SET v = ?", v+1).Error
				})
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	var v int
	require.NoError(t, pools[0].Raw("SELECT v FROM n").Scan(&v).Error)
	require.Equal(t, 80, v)
}

// A database in memory has one connection, which is never closed: another would be empty.
func TestMemory(t *testing.T) {
	t.Parallel()
	db := openDB(t, ":memory:")
	require.NoError(t, db.Exec("CREATE TABLE n (v INTEGER)").Error)
	pool, err := db.DB()
	require.NoError(t, err)
	require.Equal(t, 1, pool.Stats().MaxOpenConnections)
	require.NoError(t, db.Exec("INSERT INTO n VALUES (0)").Error)
}
