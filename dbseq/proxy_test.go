//go:build prove

package dbseq_test

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/test/segmentcheck"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/leasetest"
)

var databases atomic.Int64

// newDatabase creates a database on a server. dsn is that of the database through a proxy.
func newDatabase(t testing.TB, e engine, server, proxy *testserver.Server) (db *gorm.DB, dsn string) {
	t.Helper()
	name := fmt.Sprint("db", databases.Add(1))
	rawExec(t, e.db(t, server.DSN()), "CREATE DATABASE "+name)
	return e.db(t, server.DSN()+" dbname="+name), proxy.DSN() + " dbname=" + name
}

// TestContractThroughPgBouncer: statements of a center reach the server on different connections.
// HAProxy only passes bytes on, so the tests with failovers and cut connections suffice for it.
func TestContractThroughPgBouncer(t *testing.T) {
	t.Parallel()
	e := servers["postgres"]
	srv := e.start(t)
	// One connection would hold an abandoned write for longer than a keeper waits to undo it.
	through := e.db(t, testserver.NewPgBouncer(t, srv, "pool_mode = transaction", "default_pool_size = 4").DSN())
	require.NoError(t, segmentcheck.Run(t.Context(), segments(t, through), "shop/", nil))
	e.dsn = func(testing.TB) string { return srv.DSN() }
	direct := stores(t, e)
	leasetest.Run(t, func(t testing.TB) leasetest.Store {
		s := direct(t).(*store)
		s.through = through
		return s
	})
}

// TestFailoverBehindHAProxy: the address leads to a promoted server that lags. No range is lent twice.
func TestFailoverBehindHAProxy(t *testing.T) {
	t.Parallel()
	for name, replicated := range pairs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, p := servers[name], replicated(t)
			c := center(t, e.db(t, testserver.NewHAProxy(t, []*testserver.Server{p.primary, p.replica}).DSN()))
			req := func() lease.Request { return soon(request("orders", 2)) }
			held := first(t, c, req())
			p.follow()
			p.cut()
			lost := acquire(t, c, req())
			p.primary.Kill()
			p.promote()
			again := renewSoon(t, c, held)
			require.Greater(t, again.Token, held.Token)
			requireDisjoint(t, held, lost, again, acquireSoon(t, c, req()))
		})
	}
}

// TestConnectionsThatAreCut: a proxy cuts connections that are idle, or is restarted. The
// next renewal succeeds on a new connection. The test cuts them itself, since a timeout of a
// proxy would also end a connection that is slow.
func TestConnectionsThatAreCut(t *testing.T) {
	t.Parallel()
	haproxy := func(t testing.TB, srv *testserver.Server) *testserver.Server {
		return testserver.NewHAProxy(t, []*testserver.Server{srv})
	}
	cut := func(_ *testing.T, proxy *testserver.Server) { proxy.CutConnections() }
	for name, p := range map[string]struct {
		engine string
		start  func(t testing.TB, srv *testserver.Server) *testserver.Server
		cut    func(t *testing.T, proxy *testserver.Server)
	}{
		"pgbouncer": {"postgres", func(t testing.TB, srv *testserver.Server) *testserver.Server {
			return testserver.NewPgBouncer(t, srv, "pool_mode = transaction", "admin_users = snowlease")
		}, func(t *testing.T, proxy *testserver.Server) {
			console, err := sql.Open("pgx", proxy.DSN()+" dbname=pgbouncer default_query_exec_mode=simple_protocol")
			require.NoError(t, err)
			defer console.Close()
			for _, command := range []string{"KILL postgres", "RESUME postgres"} {
				_, err := console.ExecContext(t.Context(), command)
				require.NoError(t, err)
			}
		}},
		"haproxy/postgres": {"postgres", haproxy, cut},
		"haproxy/mariadb":  {"mariadb", haproxy, cut},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := servers[p.engine]
			srv := e.start(t)
			proxy := p.start(t, srv)
			db := e.db(t, srv.DSN())
			c := center(t, e.db(t, proxy.DSN()))
			g := first(t, c, request("orders", 1))
			for range 2 {
				time.Sleep(1100 * time.Millisecond) // pgx checks connections that were idle for a second
				p.cut(t, proxy)
				requireNoClients(t, e, db)
				var err error
				g, err = c.Renew(t.Context(), g)
				require.NoError(t, err, "the connection was idle")
			}
			proxy.Kill()
			proxy.Start()
			if _, err := c.Renew(t.Context(), g); err != nil { // pgx checks no connection that was just in use
				_, err = c.Renew(t.Context(), g)
				require.NoError(t, err, "the proxy was restarted")
			}
		})
	}
}

// requireNoClients waits until a server has no other client than db.
func requireNoClients(t *testing.T, e engine, db *gorm.DB) {
	t.Helper()
	query := "SELECT COUNT(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
	if e.speaks == "mysql" {
		query = "SELECT COUNT(*) FROM information_schema.processlist WHERE db = 'test' AND id <> CONNECTION_ID()"
	}
	require.Eventually(t, func() bool { return number(t, db, query) == 0 }, time.Minute, 10*time.Millisecond)
}

// TestPgBouncerErrors: what PgBouncer refuses, and what it mixes up, comes with a remedy.
func TestPgBouncerErrors(t *testing.T) {
	t.Parallel()
	e := servers["postgres"]
	srv := testserver.NewPostgres(t)
	t.Run("statement mode", func(t *testing.T) { // has no transactions, which only Init needs
		t.Parallel()
		_, dsn := newDatabase(t, e, srv, testserver.NewPgBouncer(t, srv, "pool_mode = statement"))
		c := center(t, e.db(t, dsn))
		require.ErrorContains(t, c.Extras().Init(t.Context(), soon(request("orders", 2))), "set pool_mode = transaction")
		g := acquireSoon(t, c, soon(request("orders", 2)))
		g, err := c.Renew(t.Context(), g)
		require.NoError(t, err)
		require.NoError(t, c.Release(t.Context(), g, g.Now))
	})
	t.Run("all connections are busy", func(t *testing.T) {
		t.Parallel()
		_, dsn := newDatabase(t, e, srv, testserver.NewPgBouncer(t, srv, "pool_mode = transaction", "default_pool_size = 1", "query_wait_timeout = 1"))
		c := center(t, e.db(t, dsn))
		g := first(t, c, request("orders", 1))
		tx := e.db(t, dsn).Begin()
		rawExec(t, tx, "SELECT")
		_, err := c.Renew(t.Context(), g)
		require.ErrorContains(t, err, "raise default_pool_size")
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err = c.Renew(short, g)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, tx.Rollback().Error)
		_, err = c.Renew(t.Context(), g)
		require.NoError(t, err)
	})
	t.Run("prepared statements", func(t *testing.T) {
		t.Parallel()
		_, dsn := newDatabase(t, e, srv, testserver.NewPgBouncer(t, srv, "pool_mode = transaction", "default_pool_size = 1"))
		c := center(t, e.db(t, dsn+" default_query_exec_mode=cache_statement"))
		g := first(t, c, request("orders", 1))
		g, err := c.Renew(t.Context(), g)
		require.NoError(t, err)
		// Another client on the same connection. Some versions of PgBouncer track plain ones.
		rawExec(t, e.db(t, dsn), "DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$")
		_, err = c.Renew(t.Context(), g)
		require.ErrorContains(t, err, "default_query_exec_mode=exec")
	})
	t.Run("settings of the DSN", func(t *testing.T) {
		t.Parallel()
		proxy := testserver.NewPgBouncer(t, srv, "pool_mode = transaction")
		pool, err := sql.Open("pgx", proxy.DSN()+" statement_timeout=1000")
		require.NoError(t, err)
		defer pool.Close()
		c, err := dbseq.New(pool, dbseq.Postgres)
		require.NoError(t, err)
		_, err = c.Acquire(t.Context(), request("orders", 1))
		require.ErrorContains(t, err, "ALTER ROLE")
	})
}

// TestSearchPathOfAnotherClient: in transaction mode, a search_path that another client
// set stays on the connection. No center takes its schema for that of the tables, not even at the
// start: the namespace would seem new there, and its worker ids would be lent a second time.
func TestSearchPathOfAnotherClient(t *testing.T) {
	t.Parallel()
	e := servers["postgres"]
	srv := testserver.NewPostgres(t)
	db, dsn := newDatabase(t, e, srv, testserver.NewPgBouncer(t, srv, "pool_mode = transaction", "default_pool_size = 1"))
	rawExec(t, db, "CREATE SCHEMA tenant")
	c := center(t, e.db(t, dsn))
	g := first(t, c, soon(request("orders", 1)))
	app := e.db(t, dsn)
	rawExec(t, app, "SET search_path = tenant")
	for _, c := range []*dbseq.Center{c, center(t, e.db(t, dsn))} {
		_, err := c.Acquire(t.Context(), soon(request("orders", 1)))
		require.ErrorAs(t, err, new(*lease.NoFreeWorkerError))
	}
	_, err := c.Renew(t.Context(), g)
	require.NoError(t, err)
	_, err = segments(t, app).Reserve(t.Context(), reserve(1))
	require.NoError(t, err)
	require.EqualValues(t, 4, number(t, db, "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'"))
	require.Zero(t, number(t, db, "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'tenant'"))

	// A search_path in the settings of the account or of the DSN is no other client's.
	rawExec(t, db, "ALTER ROLE snowlease SET search_path = tenant")
	db, dsn = newDatabase(t, e, srv, srv)
	rawExec(t, db, "CREATE SCHEMA tenant")
	first(t, center(t, e.db(t, dsn)), request("orders", 1))
	require.EqualValues(t, 3, number(t, db, "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'tenant'"))
	rawExec(t, db, "CREATE SCHEMA other")
	first(t, center(t, e.db(t, dsn+" search_path=other")), request("orders", 1))
	require.EqualValues(t, 3, number(t, db, "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'other'"))
}
