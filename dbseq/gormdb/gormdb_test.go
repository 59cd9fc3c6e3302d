package gormdb_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	libsqlite "github.com/libtnb/sqlite"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/dbseq/gormdb"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/internal/sqlnumbers"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
)

func TestMain(m *testing.M) {
	// GORM's cache of prepared statements leaks a goroutine.
	testserver.Main(m, goleak.IgnoreTopFunction("gorm.io/gorm/internal/lru.NewLRU[...].func1"))
}

// An engine opens databases of one kind.
type engine struct {
	driver string
	dsn    func(t testing.TB) string
	open   func(dsn string) gorm.Dialector
	onConn func(pool *sql.DB) gorm.Dialector
}

var engines = map[string]engine{
	"sqlite": {
		"sqlite", sqliteDSN, libsqlite.Open,
		func(p *sql.DB) gorm.Dialector { return libsqlite.New(libsqlite.Config{Conn: p}) },
	},
	"mysql": {
		"mysql", func(t testing.TB) string { return testserver.MariaDB(t) + "&allowAllFiles=true" }, mysql.Open,
		func(p *sql.DB) gorm.Dialector { return mysql.New(mysql.Config{Conn: p}) },
	},
	"postgres": {
		"pgx", testserver.Postgres, postgres.Open,
		func(p *sql.DB) gorm.Dialector { return postgres.New(postgres.Config{Conn: p}) },
	},
}

func sqliteDSN(t testing.TB) string {
	return "file:" + filepath.Join(t.TempDir(), "app.db") + "?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)"
}

// open opens a *gorm.DB as an application does.
func open(t testing.TB, dialector gorm.Dialector, opts ...gorm.Option) *gorm.DB {
	t.Helper()
	db, err := gorm.Open(dialector, append([]gorm.Option{&gorm.Config{Logger: logger.Discard}}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = poolOf(t, db).Close() })
	return db
}

func poolOf(t testing.TB, db *gorm.DB) *sql.DB {
	t.Helper()
	pool, err := db.DB()
	require.NoError(t, err)
	return pool
}

// lendAndReserve requires a center and a store of numbers on db to work, with the same
// warnings, and returns those.
func lendAndReserve(t testing.TB, db *gorm.DB) []string {
	t.Helper()
	c, err := gormdb.Center(db)
	require.NoError(t, err)
	req := lease.Request{
		Namespace: "orders", Layout: "41/5/0/17", Holder: "test", Owner: lease.NewOwner(),
		Pool: 4, Last: 3, TTL: 10 * time.Minute, MaxTTL: 10 * time.Minute, Skew: 2 * time.Second,
	}
	require.NoError(t, c.Extras().Init(t.Context(), req))
	g, err := c.Acquire(t.Context(), req)
	require.NoError(t, err)
	g, err = c.Renew(t.Context(), g)
	require.NoError(t, err)
	require.NoError(t, c.Release(t.Context(), g, g.Now))

	got, err := c.Numbers().Reserve(t.Context(), numberstore.Request{Name: "shop/orders", N: 5, Start: 1, Max: 100, Create: true})
	require.NoError(t, err)
	require.Equal(t, numberstore.Range{First: 1, Last: 5}, got)
	require.Equal(t, c.Extras().Warnings, c.Numbers().(*sqlnumbers.Store).Warnings())
	require.NoError(t, c.Close())
	return c.Extras().Warnings
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	app, err := sql.Open("mysql", "app@tcp(127.0.0.1:1)/app")
	require.NoError(t, err)
	t.Cleanup(func() { _ = app.Close() })
	db := open(t, libsqlite.Open(sqliteDSN(t)))
	for name, c := range map[string]struct {
		db   *gorm.DB
		opt  dbseq.Option
		want string
	}{
		"nil":        {nil, nil, "is nil"},
		"zero":       {&gorm.DB{}, nil, "not opened by gorm.Open"},
		"dialect":    {&gorm.DB{Config: &gorm.Config{Dialector: clickhouse{}, ConnPool: app}}, nil, `"clickhouse" is not supported`},
		"no *sql.DB": {&gorm.DB{Config: &gorm.Config{Dialector: mysql.Open("app@tcp(127.0.0.1:1)/app"), ConnPool: connPool{}}}, nil, "is not on a *sql.DB"},
		"dsn":        {&gorm.DB{Config: &gorm.Config{Dialector: mysql.Open("app:geheim@tcp(127.0.0.1/app"), ConnPool: app}}, nil, "invalid DSN"},
		"no dsn":     {&gorm.DB{Config: &gorm.Config{Dialector: mysql.Open("geheim"), ConnPool: app}}, nil, "invalid DSN"},
		"line break": {&gorm.DB{Config: &gorm.Config{Dialector: libsqlite.Open("app.db\n"), ConnPool: app}}, nil, "has the control character U+000A"},
		"option":     {db, dbseq.WithTablePrefix("1"), "WithTablePrefix"},
	} {
		var opts []dbseq.Option
		if c.opt != nil {
			opts = append(opts, c.opt)
		}
		_, err := gormdb.Center(c.db, opts...)
		require.ErrorContains(t, err, c.want, name)
		require.NotContains(t, err.Error(), "geheim")
	}
}

type clickhouse struct{ gorm.Dialector }

func (clickhouse) Name() string { return "clickhouse" }

// connPool is a gorm.ConnPool that is not a *sql.DB.
type connPool struct{ gorm.ConnPool }

// TestGormIsLeftAlone: nothing uses the application's pool or callbacks, whatever the
// state and settings of db. Plugins that route reads to a replica are such callbacks.
func TestGormIsLeftAlone(t *testing.T) {
	for name, e := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t, e.open(e.dsn(t)), &gorm.Config{Logger: logger.Discard, SkipDefaultTransaction: true, PrepareStmt: true})
			broken := errors.New("must not be called")
			fail := func(tx *gorm.DB) { _ = tx.AddError(broken) }
			require.NoError(t, db.Callback().Create().Before("*").Register("fail", fail))
			require.NoError(t, db.Callback().Query().Before("*").Register("fail", fail))
			require.NoError(t, db.Callback().Update().Before("*").Register("fail", fail))
			require.NoError(t, db.Callback().Delete().Before("*").Register("fail", fail))
			require.NoError(t, db.Callback().Row().Before("*").Register("fail", fail))
			require.NoError(t, db.Callback().Raw().Before("*").Register("fail", fail))
			replica := open(t, e.open(e.dsn(t)))

			// The application's only connection is always in use.
			pool := poolOf(t, db)
			pool.SetMaxOpenConns(1)
			conn, err := pool.Conn(t.Context())
			require.NoError(t, err)
			defer conn.Close()

			session := db.Where("id = ?", 1).Table("orders")
			tx := replica.Begin()
			defer tx.Rollback()
			session.Statement.ConnPool = tx.Statement.ConnPool
			require.Empty(t, lendAndReserve(t, session))
			require.False(t, replica.Migrator().HasTable("snowlease_slot"), "the replica was not asked")
		})
	}
}

// TestSharedPool: without a DSN, the center shares the pool and warns.
func TestSharedPool(t *testing.T) {
	shares := func(t *testing.T, db *gorm.DB) {
		t.Helper()
		warnings := lendAndReserve(t, db)
		require.Len(t, warnings, 1)
		require.Contains(t, warnings[0], "dbseq.New")
		require.NoError(t, poolOf(t, db).Ping(), "the application's pool is left open")
	}
	for name, e := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool, err := sql.Open(e.driver, e.dsn(t))
			require.NoError(t, err)
			shares(t, open(t, e.onConn(pool)))
		})
	}
	t.Run("in memory", func(t *testing.T) {
		t.Parallel()
		db := open(t, libsqlite.Open(":memory:"))
		poolOf(t, db).SetMaxOpenConns(1)
		shares(t, db)
	})
}
