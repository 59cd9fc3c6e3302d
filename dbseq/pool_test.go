package dbseq_test

import (
	"context"
	"database/sql"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
)

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	file := engines[0].dsn(t)
	for name, c := range map[string]struct {
		driver, dsn string
		opts        []dbseq.Option
		want        string
	}{
		"unknown driver":    {"oracle", "x", nil, `the driver "oracle" is none of ["mysql" "pgx" "pgx/v5" "postgres" "sqlite" "sqlite3"]; for a driver of another name, call New`},
		"driver not linked": {"postgres", "host=h", nil, `the program has no driver "postgres": add import _ "github.com/lib/pq"`},
		"sqlite not linked": {"sqlite3", file, nil, `the program has no driver "sqlite3": add import _ "github.com/mattn/go-sqlite3"`},
		"in memory":         {"sqlite", ":memory:", nil, "the database is in memory, and the center's own pool would see another one: put it in a file, or give New"},
		"shared in memory":  {"sqlite", "file::memory:?cache=shared", nil, "give New"},
		"dsn":               {"mysql", "app:geheim@tcp(127.0.0.1/app", nil, "invalid DSN"},
		"url":               {"mysql", "mysql://app:geheim@127.0.0.1/app", nil, "unknown"},
		"no dsn":            {"mysql", "geheim", nil, "invalid DSN"},
		"pgx url":           {"pgx", "postgres://app:ge/heim@127.0.0.1/app", nil, "the DSN cannot be parsed"},
		"pgx pairs":         {"pgx", "host=127.0.0.1 user=app password=gehe im", nil, "the DSN cannot be parsed"},
		"pgx port":          {"pgx/v5", "postgres://app:geheim@127.0.0.1:port/app", nil, "the DSN cannot be parsed"},
		"pgx backslash":     {"pgx", `host=127.0.0.1 password='geheim\`, nil, "ends with a backslash"},
		"pgx file":          {"pgx", "host=127.0.0.1 password=geheim sslmode=verify-full sslrootcert=/nowhere/ca", nil, "the DSN names a file that cannot be read: open /nowhere/ca"},
		"pgx key":           {"pgx", "host=127.0.0.1 sslmode=require sslcert=/nowhere/cert sslkey='-----BEGIN PRIVATE KEY-----geheim'", nil, "as if it were the file itself"},
		"line break":        {"sqlite", strings.Replace(file, "app.db", "app.db\n", 1), nil, "the DSN has the control character U+000A at byte "},
		"escaped break":     {"sqlite", strings.Replace(file, "app.db", "app.db%0a", 1), nil, "the DSN is not the path of a file"},
		"tab":               {"mysql", "app:gehe\theim@tcp(127.0.0.1:1)/app", nil, "has the control character U+0009 at byte 8: remove it"},
		"pgx line break":    {"pgx", "host=127.0.0.1\npassword=geheim", nil, "U+000A at byte 14"},
		"zero":              {"pgx", "postgres://app:geheim@127.0.0.1/app\x00", nil, "U+0000 at byte 35"},
		"byte order mark":   {"sqlite", "\ufeffapp.db", nil, "U+FEFF at byte 0"},
		"prefix":            {"sqlite", file, []dbseq.Option{dbseq.WithTablePrefix("a; DROP")}, `"a; DROP"`},
		"empty":             {"sqlite", file, []dbseq.Option{dbseq.WithTablePrefix("")}, "1 to 40 characters"},
	} {
		_, err := dbseq.Open(c.driver, c.dsn, c.opts...)
		require.ErrorContains(t, err, c.want, name)
		for part := range strings.FieldsSeq("geheim gehe heim") {
			require.NotContains(t, err.Error(), part, name)
		}
	}
}

// Connections to a database in memory each have one of their own, which would give the same
// numbers and worker ids.
func TestPoolOfSQLiteInMemory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dsn     string
		most    int
		refused bool
	}{
		{":memory:", 0, true},
		{":memory:", 1, false},
		{"file:pool?mode=memory&cache=shared&_pragma=busy_timeout(5000)", 4, true},
		{engines[0].dsn(t), 4, false},
	} {
		pool := engines[0].pool(t, c.dsn)
		pool.SetMaxOpenConns(c.most)
		center, err := dbseq.New(pool, dbseq.SQLite)
		require.NoError(t, err)
		_, given := center.Numbers().Reserve(t.Context(), reserve(1))
		for _, err := range []error{given, center.Extras().Init(t.Context(), request("orders", 4))} {
			if c.refused {
				require.ErrorIs(t, err, lease.ErrSetup, c)
				require.ErrorContains(t, err, "call SetMaxOpenConns(1) on the pool")
			} else {
				require.NoError(t, err, c)
			}
		}
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	pool, err := sql.Open("sqlite", engines[0].dsn(t))
	require.NoError(t, err)
	defer pool.Close()
	for name, c := range map[string]struct {
		pool    *sql.DB
		dialect dbseq.Dialect
		opts    []dbseq.Option
		want    string
	}{
		"nil":        {nil, dbseq.SQLite, nil, "the pool is nil"},
		"dialect":    {pool, "clickhouse", nil, `the dialect "clickhouse" is not supported: use mysql, postgres or sqlite`},
		"no dialect": {pool, "", nil, `the dialect "" is not supported`},
		"prefix":     {pool, dbseq.SQLite, []dbseq.Option{dbseq.WithTablePrefix("1")}, "WithTablePrefix"},
	} {
		_, err := dbseq.New(c.pool, c.dialect, c.opts...)
		require.ErrorContains(t, err, c.want, name)
	}
}

// TestOpenConnectsLater: Open needs no server, and cuts the line break at the end of a secret file.
func TestOpenConnectsLater(t *testing.T) {
	t.Parallel()
	for want, place := range map[string][2]string{
		"mysql 127.0.0.1:1/app":       {"mysql", "app:geheim?allowAllFiles=1@tcp(127.0.0.1:1)/app?allowAllFiles=false"},
		"mysql 127.0.0.1:2/app":       {"mysql", "app:pass://word@tcp(127.0.0.1:2)/app"}, // a password may hold what a URL begins with
		"postgres 127.0.0.1:1/app":    {"pgx/v5", "postgres://app:geheim@127.0.0.1:1/app"},
		"postgres localhost:5432/app": {"pgx", "host=localhost password=geheim dbname=app"},
		"sqlite /nowhere/app.db":      {"sqlite", "/nowhere/app.db"},
	} {
		c, err := dbseq.Open(place[0], place[1]+" \r\n")
		require.NoError(t, err)
		require.Equal(t, want, c.String())
		require.NoError(t, c.Close())
	}
}

// TestNewSharesThePool: a center uses a given pool as it is and leaves it open.
func TestNewSharesThePool(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		pool := e.pool(t, dsn)
		c, err := dbseq.New(pool, e.dialect)
		require.NoError(t, err)
		require.Empty(t, c.Extras().Warnings, "it was asked for")
		require.EqualValues(t, e.dialect, c.Extras().Name, "the DSN is not known")
		g := first(t, c, request("orders", 4))
		require.NoError(t, c.Release(t.Context(), g, 0))
		_, err = c.Numbers().Reserve(t.Context(), reserve(1))
		require.NoError(t, err)
		require.NoError(t, c.Close())
		require.NoError(t, pool.Ping(), "the pool is left open")
	})
}

// TestSettingsOfOpen: whatever the DSN says, the sessions of Open commit each statement, and a COMMIT
// begins no other transaction.
func TestSettingsOfOpen(t *testing.T) {
	onThose(t, "mysql", func(t *testing.T, e engine, dsn string) {
		own, err := dbseq.Open("mysql", dsn+"&autocommit=0&completion_type=CHAIN")
		require.NoError(t, err)
		defer own.Close()
		g := first(t, own, request("orders", 1))
		require.Equal(t, g.Ceiling, number(t, e.db(t, dsn), "SELECT hwm_ms FROM snowlease_slot"), "others see it")
	})
}

// TestSQLiteFileIsDeleted: an error says so, where SQLite notices.
func TestSQLiteFileIsDeleted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	c, err := dbseq.Open("sqlite", "file:"+path+"?_pragma=journal_mode(DELETE)")
	require.NoError(t, err)
	defer c.Close()
	g := first(t, c, request("orders", 1))
	require.NoError(t, os.Rename(path, path+".old"))
	_, err = c.Renew(t.Context(), g)
	require.ErrorContains(t, err, "the file was deleted or replaced")
	require.NotErrorIs(t, err, lease.ErrSetup, "the next connection opens the file that is there")
	_, err = c.Renew(t.Context(), g)
	require.ErrorIs(t, err, lease.ErrLost)
}

// TestFailoverToAServerThatHidesItsStart: the error says what to do.
func TestFailoverToAServerThatHidesItsStart(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		s := newClocked(t, e.db(t, dsn))
		c := s.center(t)
		g := first(t, c, request("orders", 1))
		c.ReadFrom("(SELECT ms FROM snowlease_host)", "NULL")
		_, err := c.Renew(t.Context(), g)
		require.ErrorContains(t, err, "read which server this is, to detect a failover: it is empty")
		require.NotErrorIs(t, err, lease.ErrDamaged)
		s.on(c)
		_, err = c.Renew(t.Context(), g)
		require.NoError(t, err)
	})
}

// TestCloseOfABrokenConnection: MySQL's driver says goodbye, which fails after an outage.
func TestCloseOfABrokenConnection(t *testing.T) {
	t.Parallel()
	var conn net.Conn
	mysqldriver.RegisterDialContext("broken", func(ctx context.Context, addr string) (_ net.Conn, err error) {
		conn, err = new(net.Dialer).DialContext(ctx, "tcp", addr)
		return conn, err
	})
	c, err := dbseq.Open("mysql", strings.Replace(testserver.MariaDB(t), "@tcp(", "@broken(", 1))
	require.NoError(t, err)
	first(t, c, request("orders", 1))
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	require.NoError(t, c.Close())
}

func TestClose(t *testing.T) {
	onEachCenter(t, func(t *testing.T, e engine, db *gorm.DB, c *dbseq.Center) {
		g := first(t, c, request("orders", 4))
		require.NoError(t, c.Close())
		require.NoError(t, c.Close())
		_, err := c.Renew(t.Context(), g)
		require.ErrorContains(t, err, "sql: database is closed: it was closed before this call")
		require.ErrorIs(t, err, lease.ErrSetup)
		_, err = c.Acquire(t.Context(), request("orders", 4)) // a worker that starts again
		require.NoError(t, err)
		_, err = c.Renew(t.Context(), g)
		require.NoError(t, err)
		require.Contains(t, c.Extras().Name, string(e.dialect))
		require.NotContains(t, c.Extras().Name, "snowlease:snowlease")
	})
}
