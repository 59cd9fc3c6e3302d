//go:build prove

package dbseq_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

// through opens a center at an address of a pooler or proxy.
func through(t testing.TB, e engine, dsn string, opts ...dbseq.Option) *dbseq.Center {
	t.Helper()
	return center(t, e.db(t, dsn), opts...)
}

// A proxied store is changed by the test on the server, and by centers through a proxy.
type proxied struct {
	*store
	e   engine
	dsn string
}

func (s proxied) Center(t testing.TB) lease.Center { return through(t, s.e, s.dsn, s.opts...) }

var databases atomic.Int64

// newProxied creates a database on a server.
func newProxied(t testing.TB, e engine, server, proxy *testserver.Server) proxied {
	t.Helper()
	name := fmt.Sprint("db", databases.Add(1))
	rawExec(t, e.db(t, server.DSN()), "CREATE DATABASE "+name)
	in := func(dsn string) string {
		if e.speaks == "mysql" {
			return strings.Replace(dsn, "/test?", "/"+name+"?", 1)
		}
		return dsn + " dbname=" + name
	}
	return proxied{&store{db: e.db(t, in(server.DSN())), compared: true}, e, in(proxy.DSN())}
}

// proxies are poolers and proxies before one server. The pools have one connection, which
// all centers share, where the mode allows that.
var proxies = map[string]struct {
	engine string
	start  func(t testing.TB, srv *testserver.Server) *testserver.Server
}{
	"pgbouncer/transaction": {"postgres", func(t testing.TB, srv *testserver.Server) *testserver.Server {
		return testserver.NewPgBouncer(t, srv, "pool_mode = transaction", "default_pool_size = 1")
	}},
	"pgbouncer/session": {"postgres", func(t testing.TB, srv *testserver.Server) *testserver.Server {
		return testserver.NewPgBouncer(t, srv, "pool_mode = session")
	}},
	"haproxy/postgres": {"postgres", haproxy},
	"haproxy/mariadb":  {"mariadb", haproxy},
}

func haproxy(t testing.TB, srv *testserver.Server) *testserver.Server {
	return testserver.NewHAProxy(t, []*testserver.Server{srv})
}

func TestContractThroughProxies(t *testing.T) {
	t.Parallel()
	for name, p := range proxies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := servers[p.engine]
			srv := e.start(t)
			proxy := p.start(t, srv)
			require.NoError(t, segmentcheck.Run(t.Context(), segments(t, e.db(t, newProxied(t, e, srv, proxy).dsn)), "", nil))
			leasetest.Run(t, func(t testing.TB) leasetest.Store { return newProxied(t, e, srv, proxy) })
		})
	}
}

func TestLossToGrantThroughProxies(t *testing.T) {
	t.Parallel()
	for name, p := range proxies {
		e := servers[p.engine]
		t.Run(name+"/restart", func(t *testing.T) {
			t.Parallel()
			srv := e.start(t)
			lossToGrant(t, e, p.start(t, srv).DSN(), func(*testing.T, *gorm.DB) {
				srv.Kill()
				srv.ShiftClock(time.Second) // MySQL knows seconds only
				srv.Start()
			})
		})
	}
}

// TestFailoverBehindHAProxy: the address leads to a promoted server that lags. Holders
// continue, newcomers wait for the quarantine, and no range is lent twice.
func TestFailoverBehindHAProxy(t *testing.T) {
	t.Parallel()
	for name, replicated := range map[string]func(t *testing.T) (primary, replica *testserver.Server, cut, promote func()){
		"mariadb": func(t *testing.T) (primary, replica *testserver.Server, cut, promote func()) {
			primary = testserver.NewMariaDBPrimary(t)
			replica = testserver.NewMariaDBReplica(t, primary)
			return primary, replica, replica.CutLink, replica.Promote
		},
		"postgres": func(t *testing.T) (primary, replica *testserver.Server, cut, promote func()) {
			primary, replica = testserver.NewPostgres(t), testserver.NewPostgres(t)
			primary.Stop()
			replica.Stop()
			copyData(t, primary.Dir(), replica.Dir())
			require.NoError(t, os.WriteFile(filepath.Join(replica.Dir(), "standby.signal"), nil, 0o644))
			settings := fmt.Sprintf("primary_conninfo = '%s'\n", primary.DSN())
			require.NoError(t, os.WriteFile(filepath.Join(replica.Dir(), "postgresql.auto.conf"), []byte(settings), 0o644))
			primary.Start()
			replica.Start()
			at := func() *gorm.DB { return servers["postgres"].db(t, replica.DSN()) }
			return primary, replica, func() {
				rawExec(t, at(), "ALTER SYSTEM SET primary_conninfo = ''")
				rawExec(t, at(), "SELECT pg_reload_conf()")
				require.Eventually(t, func() bool { return number(t, at(), "SELECT COUNT(*) FROM pg_stat_wal_receiver") == 0 }, time.Minute, 10*time.Millisecond)
			}, func() { rawExec(t, at(), "SELECT pg_promote()") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := servers[name]
			primary, replica, cut, promote := replicated(t)
			proxy := testserver.NewHAProxy(t, []*testserver.Server{primary, replica})
			lossToGrant(t, e, proxy.DSN(), func(t *testing.T, db *gorm.DB) {
				cut()
				seen := func(s *testserver.Server) int64 {
					return number(t, e.db(t, s.DSN()), "SELECT MAX(seen_ms) FROM snowlease_slot")
				}
				require.Eventually(t, func() bool { return seen(primary) > seen(replica) }, time.Minute, 10*time.Millisecond)
				primary.Kill()
				promote()
			})
		})
	}
}

// TestConnectionsThatAreCut: a proxy cuts connections that are idle, or is restarted. The
// next renewal succeeds on a new connection.
func TestConnectionsThatAreCut(t *testing.T) {
	t.Parallel()
	const idle = "timeout client 1s\ntimeout server 1s"
	for name, p := range map[string]struct {
		engine string
		start  func(t testing.TB, srv *testserver.Server) *testserver.Server
	}{
		"pgbouncer": {"postgres", func(t testing.TB, srv *testserver.Server) *testserver.Server {
			return testserver.NewPgBouncer(t, srv, "pool_mode = transaction", "client_idle_timeout = 1", "server_idle_timeout = 1")
		}},
		"haproxy/postgres": {"postgres", func(t testing.TB, srv *testserver.Server) *testserver.Server {
			return testserver.NewHAProxy(t, []*testserver.Server{srv}, idle)
		}},
		"haproxy/mariadb": {"mariadb", func(t testing.TB, srv *testserver.Server) *testserver.Server {
			return testserver.NewHAProxy(t, []*testserver.Server{srv}, idle)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := servers[p.engine]
			srv := e.start(t)
			proxy := p.start(t, srv)
			db := e.db(t, srv.DSN())
			c := through(t, e, proxy.DSN())
			g := first(t, c, request("orders", 1))
			for range 2 {
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
		s := newProxied(t, e, srv, testserver.NewPgBouncer(t, srv, "pool_mode = statement"))
		c := through(t, e, s.dsn)
		require.ErrorContains(t, c.Extras().Init(t.Context(), soon(request("orders", 2))), "set pool_mode = transaction")
		g := acquireSoon(t, c, soon(request("orders", 2)))
		g, err := c.Renew(t.Context(), g)
		require.NoError(t, err)
		require.NoError(t, c.Release(t.Context(), g, g.Now))
	})
	t.Run("all connections are busy", func(t *testing.T) {
		t.Parallel()
		s := newProxied(t, e, srv, testserver.NewPgBouncer(t, srv, "pool_mode = transaction", "default_pool_size = 1", "query_wait_timeout = 1"))
		c := through(t, e, s.dsn)
		g := first(t, c, request("orders", 1))
		tx := e.db(t, s.dsn).Begin()
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
		s := newProxied(t, e, srv, testserver.NewPgBouncer(t, srv, "pool_mode = transaction", "default_pool_size = 1"))
		c := through(t, e, s.dsn+" default_query_exec_mode=cache_statement")
		g := first(t, c, request("orders", 1))
		g, err := c.Renew(t.Context(), g)
		require.NoError(t, err)
		// Another client on the same connection. Some versions of PgBouncer track plain ones.
		rawExec(t, e.db(t, s.dsn), "DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$")
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
	s := newProxied(t, e, srv, testserver.NewPgBouncer(t, srv, "pool_mode = transaction", "default_pool_size = 1"))
	rawExec(t, s.db, "CREATE SCHEMA tenant")
	c := through(t, e, s.dsn)
	g := first(t, c, soon(request("orders", 1)))
	app := e.db(t, s.dsn)
	rawExec(t, app, "SET search_path = tenant")
	for _, c := range []*dbseq.Center{c, through(t, e, s.dsn)} {
		_, err := c.Acquire(t.Context(), soon(request("orders", 1)))
		require.ErrorAs(t, err, new(*lease.NoFreeWorkerError))
	}
	_, err := c.Renew(t.Context(), g)
	require.NoError(t, err)
	_, err = segments(t, app).Reserve(t.Context(), reserve(1))
	require.NoError(t, err)
	require.EqualValues(t, 4, number(t, s.db, "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'"))
	require.Zero(t, number(t, s.db, "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'tenant'"))

	// A search_path in the settings of the account or of the DSN is no other client's.
	rawExec(t, s.db, "ALTER ROLE snowlease SET search_path = tenant")
	direct := newProxied(t, e, srv, srv)
	rawExec(t, direct.db, "CREATE SCHEMA tenant")
	first(t, through(t, e, direct.dsn), request("orders", 1))
	require.EqualValues(t, 3, number(t, direct.db, "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'tenant'"))
	rawExec(t, direct.db, "CREATE SCHEMA other")
	first(t, through(t, e, direct.dsn+" search_path=other"), request("orders", 1))
	require.EqualValues(t, 3, number(t, direct.db, "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'other'"))
}
