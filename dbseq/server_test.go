//go:build prove

package dbseq_test

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
)

// TestRestart: a server that may have lost acknowledged grants lends above them, to
// current holders too.
func TestRestart(t *testing.T) {
	t.Parallel()
	for name, e := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := e.start(t)
			db := e.db(t, srv.DSN())
			c := center(t, db)
			g := first(t, c, soon(request("orders", 4)))
			srv.Stop()
			srv.ShiftClock(time.Second) // MySQL knows seconds only
			srv.Start()
			other := acquire(t, center(t, db, dbseq.WithQuarantine(lease.QuarantineNever)), soon(request("orders", 4)))
			renewed := renewSoon(t, c, g)
			require.Equal(t, g.Worker, renewed.Worker)
			r, err := c.Extras().Operator.Record(t.Context(), "orders")
			require.NoError(t, err)
			require.Contains(t, r.Reason, "incarnation of the store changed from")
			require.GreaterOrEqual(t, renewed.Floor, r.Quarantine)
			requireDisjoint(t, g, renewed, other, acquire(t, c, soon(request("orders", 4))))
			require.NoError(t, c.Release(t.Context(), renewed, renewed.Now))
		})
	}
}

// TestIncarnationOfAClone: a server with another's records has its own incarnation, even if
// both started in the same second: a MariaDB with the same server_id, and a MySQL with the
// same server_uuid, as in a copy of the data folder.
func TestIncarnationOfAClone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"mariadb", "mysql"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := servers[name]
			one := e.start(t, "--server-id=1") // the default
			db := e.db(t, one.DSN())
			s := &store{db: db}
			g := first(t, center(t, db), soon(request("orders", 4)))
			records := s.Snapshot(t)

			other := e.start(t, "--server-id=1")
			if name == "mysql" {
				other.Stop()
				copyData(t, filepath.Join(one.Dir(), "auto.cnf"), filepath.Join(other.Dir(), "auto.cnf"))
				other.Start()
			}
			db = e.db(t, other.DSN())
			c := center(t, db)
			require.NoError(t, c.Extras().Init(t.Context(), request("other", 1)))
			s.db = db
			records()
			requireDisjoint(t, g, renewSoon(t, c, g))
			r, err := c.Extras().Operator.Record(t.Context(), "orders")
			require.NoError(t, err)
			require.Contains(t, r.Reason, "incarnation of the store changed from")
			require.NotEqual(t, path.Dir(r.Former), path.Dir(r.Incarnation), "without the seconds")
			was, _, _ := strings.Cut(r.Former, "/")
			is, _, _ := strings.Cut(r.Incarnation, "/")
			require.Equal(t, was, is, "the server_id or server_uuid")
		})
	}
}

// TestPostgresIncarnation: the end of a recovery changes the incarnation of a PostgreSQL,
// by its timeline. An error during recovery differs from that of an outage.
func TestPostgresIncarnation(t *testing.T) {
	t.Parallel()
	e := servers["postgres"]
	srv := e.start(t, asStandby...)
	db := e.db(t, srv.DSN())
	c := center(t, db)
	g := first(t, c, soon(request("orders", 4)))

	srv.Stop()
	standby := filepath.Join(srv.Dir(), "standby.signal")
	require.NoError(t, os.WriteFile(standby, nil, 0o644))
	srv.Start()
	var err error
	require.Eventually(t, func() bool {
		_, err = c.Renew(t.Context(), g)
		return err != nil && strings.Contains(err.Error(), "use the DSN of the primary")
	}, 20*time.Second, 20*time.Millisecond)

	rawExec(t, db, "SELECT pg_promote()")
	requireDisjoint(t, g, renewSoon(t, c, g))
	r, err := c.Extras().Operator.Record(t.Context(), "orders")
	require.NoError(t, err)
	require.Regexp(t, `changed from "\d+/00000001/\w+\.\d+/-" to "\d+/00000002/\w+\.\d+/0/\w+"`, r.Reason)
}

// TestReadOnlyServer: the error says which server to use.
func TestReadOnlyServer(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		db := e.db(t, dsn)
		g := first(t, center(t, db), request("orders", 4))
		c := center(t, e.db(t, e.readOnly(t, dsn)))
		want := readOnlyAdvice(e)
		for range 2 {
			_, err := c.Acquire(t.Context(), request("orders", 4))
			require.ErrorContains(t, err, want)
			require.ErrorContains(t, err, "acquire a worker id on "+c.Extras().Name)
			require.Equal(t, e.speaks == "sqlite", errors.Is(err, lease.ErrSetup), "a failover ends it elsewhere: %v", err)
			_, err = c.Renew(t.Context(), g)
			require.ErrorContains(t, err, want)
		}
	})
}

// TestUnreadableIncarnation: an incarnation that cannot be read is an error that names
// both remedies. It never counts as unchanged.
func TestUnreadableIncarnation(t *testing.T) {
	t.Parallel()
	srv := testserver.NewPostgres(t)
	db := engines[2].db(t, srv.DSN())
	rawExec(t, db, "CREATE ROLE app LOGIN PASSWORD 'pw'")
	rawExec(t, db, "GRANT CREATE ON SCHEMA public TO app")
	rawExec(t, db, "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
	app := engines[2].db(t, srv.DSN()+" user=app password=pw")
	_, err := center(t, app).Acquire(t.Context(), request("orders", 4))
	require.ErrorContains(t, err, "let the account run")
	require.ErrorContains(t, err, "pg_control_system")
	require.ErrorContains(t, err, "quarantine: never")
	require.NotContains(t, err.Error(), "dbseq/schema", "no other advice")
	require.ErrorIs(t, err, lease.ErrSetup)
	require.False(t, db.Migrator().HasTable("snowlease_slot"), "nothing was written")
	first(t, center(t, app, dbseq.WithQuarantine(lease.QuarantineNever)), request("orders", 4))
}

// TestBrokenConnections: a verb succeeds after its last connection was closed.
func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	srv := testserver.NewPostgres(t)
	db := engines[2].db(t, srv.DSN())
	c := center(t, db)
	g := first(t, c, request("orders", 4))
	rawExec(t, db, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")
	renewSoon(t, c, g)
}

// TestServerThatHangs: the context bounds each call, and the holder continues when the
// server does.
func TestServerThatHangs(t *testing.T) {
	t.Parallel()
	srv := testserver.NewMariaDB(t)
	db := engines[1].db(t, srv.DSN())
	c := center(t, db)
	g := first(t, c, request("orders", 4))
	srv.Pause()
	var err error
	for err == nil { // a signal takes a moment
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		_, err = c.Renew(ctx, g)
		cancel()
	}
	require.ErrorIs(t, err, context.DeadlineExceeded)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = c.Acquire(ctx, request("orders", 4))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	srv.Resume()
	renewed, err := c.Renew(t.Context(), g)
	require.NoError(t, err)
	require.Equal(t, g.Token, renewed.Token)
}
