package chaos

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/testserver"
)

// A database is an arena on a SQL server.
type database struct {
	*arena
	server *testserver.Server
	driver string // of database/sql
}

// exec runs statements on the server as its administrator, one at a time.
func (d *database) exec(ctx context.Context, statements ...string) error {
	db, err := sql.Open(d.driver, d.server.DSN())
	if err != nil {
		return err
	}
	defer db.Close()
	for _, s := range statements {
		_, err := db.ExecContext(ctx, s)
		for err != nil && undone.MatchString(err.Error()) {
			pause(ctx, 10*time.Millisecond)
			_, err = db.ExecContext(ctx, s)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// undone matches the error of a statement that lost a deadlock to a member.
var undone = regexp.MustCompile(`\b(1213|40001|40P01)\b`)

// newDatabase is an arena on a server. dsn is what processes use, with the server's
// address in it.
func newDatabase(t *testing.T, kind, driver, dsn string, server *testserver.Server, servers func() []*testserver.Server) *database {
	at := server.Addr()
	n := newNetwork(t, at)
	_, port, _ := strings.Cut(at, ":")
	reach := func(addr string) store {
		_, p, _ := strings.Cut(addr, ":")
		return store{Kind: kind, DSN: strings.Replace(dsn, port, p, 1)}
	}
	d := &database{driver: driver, server: server}
	d.arena = &arena{
		network: n, share: 100, tell: append(slots(), meta), clock: &clock{servers: servers},
		store:  func(group int) store { return reach(n.routes(group)[at]) },
		direct: func() store { return reach(d.server.Addr()) },
	}
	return d
}

// outages are what happens to any database without a loss.
func (d *database) outages(readOnly, readWrite []string) []fault {
	return []fault{
		{"database killed and restarted", func(ctx context.Context, random *rand.Rand) error {
			d.server.Kill()
			short(ctx, random)
			d.server.Start()
			return nil
		}},
		{"database hangs", func(ctx context.Context, random *rand.Rand) error {
			d.server.Pause()
			short(ctx, random)
			d.server.Resume()
			return nil
		}},
		{"database turned read-only", func(ctx context.Context, random *rand.Rand) error {
			err := d.exec(ctx, readOnly...)
			short(ctx, random)
			return errors.Join(err, d.exec(ctx, readWrite...))
		}},
	}
}

// readOnly sets what transactions of PostgreSQL are by default.
func readOnly(value string) []string {
	return []string{"ALTER SYSTEM SET default_transaction_read_only = " + value, "SELECT pg_reload_conf()"}
}

// sqlFaults are faults of any database.
func (d *database) sqlFaults(readOnly, readWrite []string) []fault {
	remove := func(name string, records func(*rand.Rand) []string, also ...string) fault {
		return fault{name, func(ctx context.Context, random *rand.Rand) error {
			some, err := d.lose(ctx, records(random)...)
			if err != nil {
				return err
			}
			statements := also
			for _, r := range some {
				table := "slot WHERE slot = " + r + " AND"
				if r == meta {
					table = "meta WHERE"
				}
				statements = append(statements, "DELETE FROM snowlease_"+table+" ns = '"+namespace+"'")
			}
			return d.exec(ctx, statements...)
		}}
	}
	return append(append(d.clock.faults(time.Minute, d.noticed), d.outages(readOnly, readWrite)...),
		remove("slots deleted", func(random *rand.Rand) []string { return sample(random, slots()) }),
		remove("all slots deleted", func(*rand.Rand) []string { return slots() }, "DELETE FROM snowlease_slot", "DELETE FROM snowlease_ticket"),
		remove("record of the namespace deleted", func(*rand.Rand) []string { return []string{meta} }),
		remove("record of the namespace and slots deleted", func(random *rand.Rand) []string { return append(sample(random, slots()), meta) }),
	)
}

const meta = "meta"

// slots are the records of the worker ids.
func slots() (all []string) {
	for worker := range workers {
		all = append(all, fmt.Sprint(worker))
	}
	return all
}

// newPair is a server that speaks the protocol of MySQL, and a replica that takes over.
func newPair(
	t *testing.T,
	newPrimary func(testing.TB, ...string) *testserver.Server,
	newReplica func(testing.TB, *testserver.Server, ...string) *testserver.Server,
) *arena {
	primary := newPrimary(t)
	replica := newReplica(t, primary)
	at := primary.Addr()
	// read_only does not stop an account with all privileges.
	dsn := fmt.Sprintf("app:app@tcp(%s)/test?parseTime=true&timeout=2s", at)
	d := newDatabase(t, mysqlKind, "mysql", dsn, primary, func() []*testserver.Server { return []*testserver.Server{primary, replica} })
	require.NoError(t, d.exec(t.Context(), "CREATE USER app@'127.0.0.1' IDENTIFIED BY 'app'", "GRANT ALL ON test.* TO app@'127.0.0.1'"))
	dead, early := false, true // whether the replica is a former primary, and when it died, times differed
	promote := func(ctx context.Context, random *rand.Rand) error {
		if dead {
			replica.Wipe()
			// A new server: the former primary would skip the transactions that it
			// wrote itself.
			replica = newReplica(t, primary)
			replica.ShiftClock(d.clock.off)
		}
		d.clock.ready(ctx)
		replica.CutLink()
		pause(ctx, d.lag(3*time.Second, random.Float64()))
		primary.Kill() // never two primaries
		replica.Promote()
		primary, replica, dead = replica, primary, true
		_, early = d.crew.differ()
		d.server = primary
		return d.lead(at, primary.Addr())
	}
	d.faults = append(d.sqlFaults([]string{"SET GLOBAL read_only = ON"}, []string{"SET GLOBAL read_only = OFF"}),
		fault{"replica promoted whose link was cut", promote},
		fault{"failed back to the former primary as it was", func(ctx context.Context, random *rand.Rand) error {
			if early {
				if err := promote(ctx, random); err != nil {
					return err
				}
			}
			d.clock.ready(ctx)
			primary.Kill()
			replica.Start()
			primary, replica = replica, primary
			d.server = primary
			return d.lead(at, primary.Addr())
		}},
	)
	return d.arena
}

// newPostgres is a single PostgreSQL.
func newPostgres(t *testing.T) *arena {
	server := testserver.NewPostgres(t, "-c", "restore_command=/bin/false", "-c", "recovery_target_timeline=current", "-c", "hot_standby=on")
	d := newDatabase(t, postgre, "pgx", server.DSN()+" connect_timeout=2", server, func() []*testserver.Server { return []*testserver.Server{server} })
	older := filepath.Join(t.TempDir(), "data") // the only copy: one of each fault would fill the disk
	d.faults = append(d.sqlFaults(readOnly("on"), readOnly("off")),
		fault{"database stopped, started as a standby and promoted", func(ctx context.Context, random *rand.Rand) error {
			server.Stop()
			err := os.WriteFile(filepath.Join(server.Dir(), "standby.signal"), nil, 0o644)
			server.Start()
			pause(ctx, time.Duration(random.Int64N(int64(ttl))))
			return errors.Join(err, d.exec(ctx, "SELECT pg_promote()"))
		}},
		fault{"database fell back to older data", func(ctx context.Context, random *rand.Rand) error {
			copyData := func(from, to string) error {
				return errors.Join(os.RemoveAll(to), exec.CommandContext(ctx, "cp", "-a", from, to).Run())
			}
			d.clock.ready(ctx)
			server.Stop()
			err := copyData(server.Dir(), older)
			server.Start()
			pause(ctx, d.lag(3*ttl, random.Float64()))
			server.Kill()
			err = errors.Join(err, copyData(older, server.Dir()))
			server.Start()
			return err
		}},
	)
	return d.arena
}
