package dbseq_test

import (
	"database/sql"
	"errors"
	"testing"

	libsqlite "github.com/libtnb/sqlite"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowlease/snowlease/dbseq"
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	e := engines[0]
	db := e.db(t, e.dsn(t))
	for name, c := range map[string]struct {
		db   *gorm.DB
		opts []dbseq.Option
		want string
	}{
		"nil":         {nil, nil, "is nil"},
		"zero":        {&gorm.DB{}, nil, "not opened by gorm.Open"},
		"dialect":     {&gorm.DB{Config: &gorm.Config{Dialector: clickhouse{}}}, nil, `"clickhouse" is not supported`},
		"pool":        {db, []dbseq.Option{dbseq.WithPool(nil)}, "WithPool: the pool is nil"},
		"prefix":      {db, []dbseq.Option{dbseq.WithTablePrefix("a; DROP")}, `"a; DROP"`},
		"empty":       {db, []dbseq.Option{dbseq.WithTablePrefix("")}, "1 to 40 characters"},
		"quarantine":  {db, []dbseq.Option{dbseq.WithQuarantine("sometimes")}, `"sometimes" is neither`},
		"both faults": {db, []dbseq.Option{dbseq.WithQuarantine("sometimes"), dbseq.WithPool(nil)}, "WithPool"},
	} {
		_, err := dbseq.New(c.db, c.opts...)
		require.ErrorContains(t, err, c.want, name)
	}
	require.NoError(t, db.Transaction(func(tx *gorm.DB) error {
		_, err := dbseq.New(tx)
		require.ErrorContains(t, err, "in a transaction")
		return nil
	}))
}

type clickhouse struct{ gorm.Dialector }

func (clickhouse) Name() string { return "clickhouse" }

// TestGormIsLeftAlone: nothing uses the application's pool or callbacks, whatever the
// state of db. Plugins that route reads to a replica are such callbacks.
func TestGormIsLeftAlone(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		db := e.db(t, dsn)
		pool, err := db.DB()
		require.NoError(t, err)
		broken := errors.New("must not be called")
		fail := func(tx *gorm.DB) { _ = tx.AddError(broken) }
		require.NoError(t, db.Callback().Create().Before("*").Register("fail", fail))
		require.NoError(t, db.Callback().Query().Before("*").Register("fail", fail))
		require.NoError(t, db.Callback().Update().Before("*").Register("fail", fail))
		require.NoError(t, db.Callback().Delete().Before("*").Register("fail", fail))
		require.NoError(t, db.Callback().Row().Before("*").Register("fail", fail))
		require.NoError(t, db.Callback().Raw().Before("*").Register("fail", fail))
		replica := e.db(t, e.dsn(t))

		// The application's only connection is always in use.
		pool.SetMaxOpenConns(1)
		conn, err := pool.Conn(t.Context())
		require.NoError(t, err)
		defer conn.Close()

		session := db.Where("id = ?", 1).Table("orders")
		session.Statement.ConnPool = replica.ConnPool
		c := center(t, session)
		require.Empty(t, c.Warnings())
		g := first(t, c, request("orders", 4))
		g, err = c.Renew(t.Context(), g)
		require.NoError(t, err)
		require.NoError(t, c.Release(t.Context(), g, g.Now))
		require.False(t, replica.Migrator().HasTable("snowlease_slot"), "the replica was not asked")
	})
}

// TestSharedPool: without a DSN, the center shares the pool and warns.
func TestSharedPool(t *testing.T) {
	t.Parallel()
	open := func(dialector gorm.Dialector) *gorm.DB {
		db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
		require.NoError(t, err)
		pool, err := db.DB()
		require.NoError(t, err)
		t.Cleanup(func() { _ = pool.Close() })
		return db
	}
	onConn := func(e engine, driver string, wrap func(*sql.DB) gorm.Dialector) *gorm.DB {
		pool, err := sql.Open(driver, e.dsn(t))
		require.NoError(t, err)
		return open(wrap(pool))
	}
	memory := open(libsqlite.Open(":memory:"))
	pool, err := memory.DB()
	require.NoError(t, err)
	pool.SetMaxOpenConns(1)
	for name, db := range map[string]*gorm.DB{
		"in memory": memory,
		"sqlite":    onConn(engines[0], "sqlite", func(p *sql.DB) gorm.Dialector { return libsqlite.New(libsqlite.Config{Conn: p}) }),
		"mysql":     onConn(engines[1], "mysql", func(p *sql.DB) gorm.Dialector { return mysql.New(mysql.Config{Conn: p}) }),
		"postgres":  onConn(engines[2], "pgx", func(p *sql.DB) gorm.Dialector { return postgres.New(postgres.Config{Conn: p}) }),
	} {
		c, err := dbseq.New(db)
		require.NoError(t, err)
		require.Len(t, c.Warnings(), 1, name)
		require.Contains(t, c.Warnings()[0], "dbseq.WithPool", name)
		g := first(t, c, request("orders", 4))
		g, err = c.Renew(t.Context(), g)
		require.NoError(t, err, name)
		require.NoError(t, c.Release(t.Context(), g, 0), name)
		require.NoError(t, c.Close())
		pool, err := db.DB()
		require.NoError(t, err)
		require.NoError(t, pool.Ping(), "the application's pool is left open")

		c, err = dbseq.New(db, dbseq.WithPool(pool))
		require.NoError(t, err)
		require.Empty(t, c.Warnings(), "it was asked for")
		acquire(t, c, request("orders", 4))
		require.NoError(t, c.Close())
		require.NoError(t, pool.Ping())
	}
}

// TestAutocommitOff: a pool that never commits is refused.
func TestAutocommitOff(t *testing.T) {
	t.Parallel()
	e := engines[1]
	dsn := e.dsn(t)
	pool, err := sql.Open("mysql", dsn+"&autocommit=0")
	require.NoError(t, err)
	defer pool.Close()
	_, err = center(t, e.db(t, dsn), dbseq.WithPool(pool)).Acquire(t.Context(), request("orders", 4))
	require.ErrorContains(t, err, "autocommit=1")

	g := first(t, center(t, e.db(t, dsn+"&autocommit=0")), request("orders", 4)) // opens its own pool
	_, err = center(t, e.db(t, dsn)).Renew(t.Context(), g)
	require.NoError(t, err)
}

func TestClose(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		c, err := dbseq.New(e.db(t, dsn))
		require.NoError(t, err)
		g := first(t, c, request("orders", 4))
		require.NoError(t, c.Close())
		require.NoError(t, c.Close())
		_, err = c.Renew(t.Context(), g)
		require.ErrorContains(t, err, "closed")
		require.Contains(t, c.String(), e.name)
		require.NotContains(t, c.String(), "snowlease:snowlease")
	})
}
