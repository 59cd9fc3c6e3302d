package gormkeys

import (
	"database/sql"
	"flag"
	"path/filepath"
	"testing"
	"time"

	"github.com/libtnb/sqlite"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/snowflake"
)

func TestMain(m *testing.M) {
	// Defaults of rapid; go test -rapid.checks 2000 runs more.
	for name, value := range map[string]string{"rapid.checks": "400", "rapid.nofailfile": "true"} {
		_ = flag.Set(name, value) // a number and a boolean
	}
	// Nothing stops the goroutine of GORM's cache of prepared statements.
	testserver.Main(m, goleak.IgnoreAnyFunction("gorm.io/gorm/internal/lru.NewLRU[...].func1"))
}

var databases = []struct {
	name, driver string
	dsn          func(testing.TB) string // of an empty database
	dialector    func(*sql.DB) gorm.Dialector
}{
	{"sqlite", "sqlite", sqliteDSN, func(db *sql.DB) gorm.Dialector { return sqlite.New(sqlite.Config{Conn: db}) }},
	{"mariadb", "mysql", testserver.MariaDB, func(db *sql.DB) gorm.Dialector { return mysql.New(mysql.Config{Conn: db}) }},
	// Without RETURNING, as GORM talks to MySQL and old MariaDBs.
	{"mariadb without RETURNING", "mysql", testserver.MariaDB, func(db *sql.DB) gorm.Dialector {
		return mysql.New(mysql.Config{Conn: db, DisableWithReturning: true})
	}},
	{"mysql", "mysql", testserver.MySQL, func(db *sql.DB) gorm.Dialector { return mysql.New(mysql.Config{Conn: db}) }},
	{"postgres", "pgx", testserver.Postgres, func(db *sql.DB) gorm.Dialector { return postgres.New(postgres.Config{Conn: db}) }},
}

func sqliteDSN(t testing.TB) string {
	return filepath.Join(t.TempDir(), "test.db") + "?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(off)"
}

func connect(t testing.TB, driver, dsn string) *sql.DB {
	db, err := sql.Open(driver, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

const worker = 21

// newGenerator returns a real generator with a lease of an hour.
func newGenerator(t require.TestingT) *generator.Generator {
	g, err := generator.New(snowflake.Layout{})
	require.NoError(t, err)
	now := time.Now().UnixMilli()
	_, err = g.Adopt(generator.Range{Worker: worker, Floor: now - 1, Ceiling: now + time.Hour.Milliseconds(), Now: now, At: g.Elapsed()})
	require.NoError(t, err)
	return g
}
