//go:build prove

package dbseq_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/test/limit"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
)

// servers are the engines whose servers a test can start.
var servers = map[string]engine{"mariadb": engines[1], "postgres": engines[2], "mysql": engines[3]}

// A pair is a primary and a replica of it. follow waits until the replica has all.
type pair struct {
	primary, replica     *testserver.Server
	follow, cut, promote func()
}

// pairs are of the engines with replication.
var pairs = map[string]func(t *testing.T, args ...string) pair{
	"mariadb": following(testserver.NewMariaDBPrimary, testserver.NewMariaDBReplica),
	"mysql":   following(testserver.NewMySQLPrimary, testserver.NewMySQLReplica),
	// A standby shares the data and the name of its primary.
	"postgres": func(t *testing.T, _ ...string) pair {
		primary, replica := testserver.NewPostgres(t), testserver.NewPostgres(t)
		primary.Stop()
		replica.Stop()
		copyData(t, primary.Dir(), replica.Dir())
		require.NoError(t, os.WriteFile(filepath.Join(replica.Dir(), "standby.signal"), nil, 0o644))
		settings := fmt.Sprintf("primary_conninfo = '%s'\n", primary.DSN())
		require.NoError(t, os.WriteFile(filepath.Join(replica.Dir(), "postgresql.auto.conf"), []byte(settings), 0o644))
		primary.Start()
		replica.Start()
		at := func(s *testserver.Server) *gorm.DB { return engines[2].db(t, s.DSN()) }
		until := func(query string, values ...any) {
			require.Eventually(t, func() bool { return number(t, at(replica), query, values...) == 0 }, time.Minute, 10*time.Millisecond, query)
		}
		return pair{primary, replica, func() {
			var has string
			require.NoError(t, at(primary).Raw("SELECT pg_current_wal_lsn()::text").Row().Scan(&has))
			until("SELECT (pg_last_wal_replay_lsn() < ?::pg_lsn)::int", has)
		}, func() {
			rawExec(t, at(replica), "ALTER SYSTEM SET primary_conninfo = ''")
			rawExec(t, at(replica), "SELECT pg_reload_conf()")
			until("SELECT COUNT(*) FROM pg_stat_wal_receiver")
		}, func() { rawExec(t, at(replica), "SELECT pg_promote()") }}
	},
}

func following(first func(testing.TB, ...string) *testserver.Server, second func(testing.TB, *testserver.Server, ...string) *testserver.Server) func(t *testing.T, args ...string) pair {
	return func(t *testing.T, args ...string) pair {
		primary := first(t, args...)
		replica := second(t, primary, args...)
		return pair{primary, replica, func() { replica.Follow(primary) }, replica.CutLink, replica.Promote}
	}
}

// lendAll borrows both worker ids from a server, after the leases on record have expired
// or, if forgotten are grants that the server may have lost, at the time of these. It
// steps the clock past a quarantine.
func lendAll(t *testing.T, e engine, s *testserver.Server, forgotten ...lease.Grant) (grants []lease.Grant) {
	t.Helper()
	s.ShiftClock(time.Hour)
	if len(forgotten) > 0 {
		s.ShiftClock(time.Until(time.UnixMilli(forgotten[0].Now)))
	}
	c := center(t, e.db(t, s.DSN()))
	for range 2 {
		g, err := c.Acquire(t.Context(), request("orders", 2))
		if q := (*lease.QuarantineError)(nil); errors.As(err, &q) {
			s.ShiftClock(time.Until(q.Until) + time.Second)
			g, err = c.Acquire(t.Context(), request("orders", 2))
		}
		require.NoError(t, err)
		grants = append(grants, g)
	}
	return grants
}

// copyData replaces or saves the data folder of a stopped server, or a file in it.
func copyData(t *testing.T, from, to string) {
	t.Helper()
	require.NoError(t, os.RemoveAll(to))
	out, err := exec.CommandContext(limit.Context(t), "cp", "-a", from, to).CombinedOutput()
	require.NoError(t, err, string(out))
}

// TestServerThatComesBackWithOlderData restores an older data folder. Neither the name of
// the server nor a record shows it.
func TestServerThatComesBackWithOlderData(t *testing.T) {
	t.Parallel()
	for name, e := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := e.start(t)
			require.NoError(t, center(t, e.db(t, s.DSN())).Extras().Init(t.Context(), request("orders", 2)))
			s.Stop()
			backup := filepath.Join(t.TempDir(), "data")
			copyData(t, s.Dir(), backup)
			s.Start()
			grants := lendAll(t, e, s)
			s.Stop()
			copyData(t, backup, s.Dir())
			s.ShiftClock(2 * time.Hour) // it starts at another time
			s.Start()
			requireDisjoint(t, append(grants, lendAll(t, e, s, grants...)...)...)
		})
	}
}

// TestFailoverThereAndBack promotes a replica, which lends and dies. Then the old primary
// returns with its old data.
func TestFailoverThereAndBack(t *testing.T) {
	t.Parallel()
	for name, replicated := range pairs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, p := servers[name], replicated(t)
			require.NoError(t, center(t, e.db(t, p.primary.DSN())).Extras().Init(t.Context(), request("orders", 2)))
			p.follow()
			if name == "postgres" {
				_, err := center(t, e.db(t, p.replica.DSN())).Acquire(t.Context(), request("orders", 2))
				require.ErrorContains(t, err, "use the DSN of the primary", "it is in recovery")
			}
			p.primary.Kill()
			p.promote()
			grants := lendAll(t, e, p.replica)
			p.replica.Kill()
			p.primary.ShiftClock(time.Hour) // it starts at another time
			p.primary.Start()
			requireDisjoint(t, append(grants, lendAll(t, e, p.primary, grants...)...)...)
		})
	}
}

// TestFailbackToALaggingPrimary: a server follows another, which lends, in the middle of a call, and is
// the primary again without a restart, with the record of its first time. Each call sees the loss, or the next one does.
func TestFailbackToALaggingPrimary(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"mariadb", "mysql"} { // PostgreSQL restarts to follow
		for verb, call := range map[string]func(c *dbseq.Center, held lease.Grant){
			"acquire": func(c *dbseq.Center, _ lease.Grant) { _, _ = c.Acquire(t.Context(), request("orders", 2)) },
			"renew":   func(c *dbseq.Center, held lease.Grant) { _, _ = c.Renew(t.Context(), held) },
			"retire":  func(c *dbseq.Center, _ lease.Grant) { _ = c.Extras().Operator.Retire(t.Context(), "orders", "moved") },
			"release": func(c *dbseq.Center, held lease.Grant) {
				if err := c.Release(t.Context(), held, 0); err != nil {
					t.Error(err)
				}
				_, _ = c.Acquire(t.Context(), held.Request)
			},
		} {
			t.Run(name+"/"+verb, func(t *testing.T) {
				t.Parallel()
				p := pairs[name](t)
				c, n := counted(t, servers[name], p.primary.DSN())
				held := first(t, c, request("orders", 2))
				n.before = func(_ int64, query string) error {
					if strings.HasPrefix(query, "UPDATE snowlease_") {
						n.before = nil
						p.follow()
						p.promote()
						p.primary.Follow(p.replica)
						p.primary.CutLink()
						lendAll(t, servers[name], p.replica)
						p.replica.Kill()
						p.primary.Promote()
						_ = servers[name].db(t, p.primary.DSN()).Exec("FLUSH GLOBAL STATUS").Error // which MariaDB has since 11.5
						_, _ = c.Acquire(t.Context(), request("invoices", 2))                      // sees it first
					}
					return nil
				}
				call(c, held)
				require.Nil(t, n.before)
				r, err := c.Extras().Operator.Record(t.Context(), "orders")
				require.NoError(t, err)
				require.NotZero(t, r.Quarantine)
			})
		}
	}
}

// TestPostgresLosesItsLastCommits: after a crash of one backend, PostgreSQL restarts under
// the same postmaster, without unwritten commits if synchronous_commit is off.
func TestPostgresLosesItsLastCommits(t *testing.T) {
	t.Parallel()
	e := servers["postgres"]
	s := e.start(t, "-c", "synchronous_commit=off", "-c", "wal_writer_delay=10s")
	db := e.db(t, s.DSN())
	c := center(t, db)
	require.NoError(t, c.Extras().Init(t.Context(), request("orders", 2)))
	rawExec(t, db, "CHECKPOINT") // keeps the record of the namespace
	var started, again time.Time
	require.NoError(t, db.Raw("SELECT pg_postmaster_start_time()").Row().Scan(&started))
	grants := []lease.Grant{acquire(t, c, request("orders", 2)), acquire(t, c, request("orders", 2))}
	backend, err := os.FindProcess(int(number(t, db, "SELECT pg_backend_pid()")))
	require.NoError(t, err)
	require.NoError(t, backend.Kill())
	require.Eventually(t, func() bool {
		return db.Raw("SELECT pg_postmaster_start_time()").Row().Scan(&again) == nil
	}, 20*time.Second, 20*time.Millisecond)
	require.Equal(t, started, again)
	requireDisjoint(t, append(grants, lendAll(t, e, s, grants...)...)...)
}

// TestIncarnationWhateverTheClock: no clock step changes the incarnation, not even one to
// before the server's start. It is the same in all sessions.
func TestIncarnationWhateverTheClock(t *testing.T) {
	t.Parallel()
	for name, e := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := e.start(t)
			db := e.db(t, s.DSN())
			c := center(t, db)
			_, _ = c.Extras().Operator.Incarnation(t.Context(), "orders")
			if e.dialect == dbseq.MySQL { // a session of MariaDB keeps the former one
				rawExec(t, db, "SET GLOBAL server_id = 7")
			}
			g := first(t, c, request("orders", 2))
			want, err := c.Extras().Operator.Incarnation(t.Context(), "orders")
			require.NoError(t, err)
			for _, off := range []time.Duration{time.Hour, 1500 * time.Millisecond, 0, -time.Second, -24 * time.Hour} {
				s.ShiftClock(off)
				for _, c := range []*dbseq.Center{c, center(t, db)} { // in this session, and in a new one
					got, err := c.Extras().Operator.Incarnation(t.Context(), "orders")
					require.NoError(t, err)
					require.Equal(t, want, got, "the clock is off by %v", off)
				}
			}
			g, err = c.Renew(t.Context(), g) // with the clock before the start
			require.NoError(t, err)
			r, err := c.Extras().Operator.Record(t.Context(), "orders")
			require.NoError(t, err)
			require.Zero(t, r.Quarantine)
			require.Equal(t, want, r.Incarnation)
			require.NoError(t, c.Release(t.Context(), g, g.Now))
		})
	}
}

// TestBorrowThatNoStandbyHas: the caller of a borrow gives up while it waits for a standby, which
// commits it on the primary alone. Asked again, the center does not lend what a failover loses.
func TestBorrowThatNoStandbyHas(t *testing.T) {
	t.Parallel()
	e, srv := servers["postgres"], testserver.NewPostgres(t)
	db := e.db(t, srv.DSN())
	rawExec(t, db, "CREATE TABLE waits (n INTEGER)")
	c, n := counted(t, e, srv.DSN())
	req := request("orders", 4)
	require.NoError(t, c.Extras().Init(t.Context(), req))
	hangs := func() bool { // every write
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		return db.WithContext(ctx).Exec("INSERT INTO waits VALUES (1)").Error != nil
	}
	n.before = func(_ int64, query string) error {
		if strings.HasPrefix(query, "UPDATE snowlease_slot") {
			n.before = nil
			rawExec(t, db, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
			rawExec(t, db, "SELECT pg_reload_conf()")
			require.Eventually(t, hangs, 20*time.Second, time.Millisecond)
		}
		return nil
	}
	giveUp := func() { // while it waits
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan error, 1)
		go func() {
			_, err := c.Acquire(ctx, req)
			done <- err
		}()
		require.Eventually(t, func() bool {
			return len(done) > 0 || number(t, db, "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE 'UPDATE %snowlease_slot%'") > 0
		}, time.Minute, 10*time.Millisecond)
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	}
	held := func() bool { return number(t, db, "SELECT COUNT(*) FROM snowlease_slot WHERE since_ms > 0") == 1 }
	giveUp()
	require.Eventually(t, held, 20*time.Second, 10*time.Millisecond, "committed on the primary")
	giveUp()

	rawExec(t, db, "ALTER SYSTEM RESET synchronous_standby_names")
	rawExec(t, db, "SELECT pg_reload_conf()")
	require.Eventually(t, func() bool { return !hangs() }, 20*time.Second, time.Millisecond)
	acquire(t, c, req)
	require.True(t, held(), "the same grant")
}
