package cli

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// examine calls the doctor and returns its findings.
func examine(t *testing.T, store string, args ...string) (code int, all []lease.Finding) {
	t.Helper()
	code, out, errs := call(t, "", append([]string{"doctor", "--json", "--store=" + store}, args...)...)
	faults := 0
	for line := range strings.Lines(out) {
		var f lease.Finding
		require.NoError(t, json.Unmarshal([]byte(line), &f))
		if f.Level == lease.LevelFault {
			faults++
			require.NotEmpty(t, f.Advice, "%+v", f)
		}
		all = append(all, f)
	}
	require.NotEmpty(t, all, errs)
	require.Equal(t, faults > 0, code == exitNo, "%d %+v %s", code, all, errs)
	return code, all
}

// requireFinding checks that the finding is there, and that no other check has a fault.
func requireFinding(t *testing.T, all []lease.Finding, level, check, seen string) {
	t.Helper()
	found := false
	for _, f := range all {
		if f.Level == level && f.Check == check && strings.Contains(f.Seen, seen) {
			found = true
		} else if f.Level == lease.LevelFault {
			require.Equal(t, level+" "+check+" "+seen, f, "another fault")
		}
	}
	require.True(t, found, "no %s of %s with %q: %+v", level, check, seen, all)
}

func redisURL(s *testserver.Server) string { return "redis://" + s.Addr() }

// A persistent Redis. With replicas it uses snapshots: a Redis that rewrites its append-only
// file keeps writing for a moment after it is killed.
var (
	kept  = []string{"--appendonly", "yes"}
	saved = []string{"--save", "3600 1"}
)

// A MySQL or MariaDB that syncs what it commits. Test servers do not.
var durable = []string{"--innodb-flush-log-at-trx-commit=1", "--sync-binlog=1", "--innodb-flush-method=fsync"}

func do(t *testing.T, s *testserver.Server, args ...any) {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: s.Addr()})
	require.NoError(t, c.Do(context.WithoutCancel(t.Context()), args...).Err())
	require.NoError(t, c.Close())
}

func sqlDo(t *testing.T, driver, dsn string, statements ...string) {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	require.NoError(t, err)
	defer db.Close()
	for _, s := range statements {
		_, err := db.ExecContext(t.Context(), s)
		require.NoError(t, err, s)
	}
}

func initialize(t *testing.T, store string, args ...string) {
	t.Helper()
	code, _, errs := call(t, "", append([]string{"init", "--yes", "--namespace=orders", "--store=" + store}, args...)...)
	require.Zero(t, code, errs)
}

// Well-configured stores have no faults, empty or in use.
func TestDoctorFindsNothing(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) string{
		"redis":  func(t *testing.T) string { return redisURL(testserver.NewRedis(t, kept...)) },
		"sqlite": sqliteURL,
		"mariadb": func(t *testing.T) string {
			return mysqlURL(t, testserver.NewMariaDB(t, durable...).DSN())
		},
		"mysql": func(t *testing.T) string {
			return mysqlURL(t, testserver.NewMySQL(t, durable...).DSN())
		},
		"postgres": func(t *testing.T) string {
			return testserver.NewPostgres(t, "-c", "fsync=on", "-c", "full_page_writes=on", "-c", "synchronous_commit=on").DSN()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := open(t)
			code, all := examine(t, store)
			require.Zero(t, code, all)
			initialize(t, store)
			code, all = examine(t, store, "--namespace=orders", "--replicas=16")
			require.Zero(t, code, all)
			for _, check := range []string{"clock", "incarnation", "rights", "namespace", "layout", "workers", "pool"} {
				requireFinding(t, all, lease.LevelOK, check, "")
			}
			if name != "sqlite" {
				return
			}
			_, all = examine(t, store, "--namespace=orders", "--replicas=17")
			requireFinding(t, all, lease.LevelFault, "pool", "17 replicas; 32 worker ids, sufficient for 16")
			_, all = examine(t, store, "--namespace=orders", "--replicas=33")
			requireFinding(t, all, lease.LevelFault, "pool", "33 replicas")
			_, all = examine(t, store, "--namespace=orders", "--preset=wide")
			requireFinding(t, all, lease.LevelFault, "namespace", "bits=41/10/0/12")
			_, all = examine(t, store, "--namespace=others")
			requireFinding(t, all, lease.LevelNote, "namespace", "nothing is on record for others")
			require.Zero(t, first(call(t, "", "quarantine", "--store="+store, "--namespace=orders", "--yes")))
			_, all = examine(t, store, "--namespace=orders")
			requireFinding(t, all, lease.LevelNote, "quarantine", "by hand")
		})
	}
}

// Without a configuration, the doctor judges what the namespace is pinned to.
func TestDoctorReadsThePin(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, store, ns string, more ...string) {
		var all []lease.Finding
		more = append(more, "--namespace="+ns)
		look := func() { _, all = examine(t, store, append(more, "--replicas=17")...) }
		finding := func(check, want string) {
			t.Helper()
			i := slices.IndexFunc(all, func(f lease.Finding) bool { return f.Check == check })
			require.GreaterOrEqual(t, i, 0, all)
			require.Contains(t, all[i].Level+" "+all[i].Seen, want)
		}
		look()
		finding("layout", "ok the default layout, epoch=1577808000000 unit=1ms bits=41/5/0/17: ")
		finding("pool", "fault 17 replicas; 32 worker ids")
		initialize(t, store, append(more, "--preset=wide")...)
		look()
		finding("layout", "ok epoch=1577808000000 unit=1ms bits=41/10/0/12: ")
		finding("pool", "ok 17 replicas; 1024 worker ids")
		finding("namespace", "ok layout={epoch=1577808000000 unit=1ms bits=41/10/0/12} pool=1024")
	})
}

// What is on record may differ from the configuration, and say less or more.
func TestDoctorComparesThePin(t *testing.T) {
	t.Parallel()
	store := sqliteURL(t)
	initialize(t, store)
	for text, c := range map[string]struct{ level, maxTTL, pin string }{
		"max_ttl=30s skew=2s ttl=30s":                 {lease.LevelOK, "30s", "max_ttl=30s"},
		"raises that to ":                             {lease.LevelNote, "1m", "max_ttl=30s"},
		"it allows for more than the configuration":   {lease.LevelNote, "30s", "max_ttl=24h0m0s"},
		"give all members the pinned configuration, ": {lease.LevelFault, "30s", "max_ttl=24h0m0s skew=16s"},
	} {
		pin := "layout={epoch=1577808000000 unit=1ms bits=41/5/0/17} pool=32 " + c.pin
		if !strings.Contains(pin, "skew") {
			pin += " skew=2s"
		}
		pin += " ttl=" + map[bool]string{true: "1h0m0s", false: "30s"}[c.level == lease.LevelFault]
		sqlDo(t, "sqlite", strings.TrimPrefix(store, "sqlite:"), "UPDATE snowlease_meta SET pin = '"+pin+"'")
		file := filepath.Join(t.TempDir(), "app.yaml")
		require.NoError(t, os.WriteFile(file, []byte("namespace: orders\nmode: db\nlease: {max_ttl: "+c.maxTTL+"}\n"), 0o600))
		_, all := examine(t, store, "--key=", "--config="+file)
		i := slices.IndexFunc(all, func(f lease.Finding) bool { return f.Check == "namespace" })
		require.GreaterOrEqual(t, i, 0)
		require.EqualValues(t, c.level, all[i].Level, text)
		require.Contains(t, all[i].Seen+all[i].Advice, text)
	}
}

func TestDoctorOnSQLite(t *testing.T) {
	t.Parallel()
	url := sqliteURL(t)
	_, all := examine(t, url+"?_pragma=synchronous(0)")
	requireFinding(t, all, lease.LevelFault, "durability", "synchronous is OFF")
	for _, journal := range []string{"memory", "off"} {
		_, all = examine(t, url+"?_pragma=synchronous(2)&_pragma=journal_mode("+journal+")")
		requireFinding(t, all, lease.LevelFault, "durability", "journal_mode "+journal)
	}
	_, all = examine(t, "sqlite::memory:")
	requireFinding(t, all, lease.LevelFault, "connect", "in memory")
}

// The doctor finds a layout whose time has run out after the namespace was created.
func TestDoctorReadsTheLayoutOnRecord(t *testing.T) {
	t.Parallel()
	store := sqliteURL(t)
	initialize(t, store)
	old := snowflake.Layout{Epoch: time.Now().Add(-6 * 365 * 24 * time.Hour).UnixMilli(), TimeBits: 38, WorkerBits: 5, SequenceBits: 17}
	db, err := sql.Open("sqlite", strings.TrimPrefix(store, "sqlite:"))
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "UPDATE snowlease_meta SET pin = ? WHERE ns = 'orders'", "layout={"+old.String()+"} pool=32 max_ttl=30s skew=2s ttl=30s")
	require.NoError(t, errors.Join(err, db.Close()))
	_, all := examine(t, store, "--namespace=orders")
	requireFinding(t, all, lease.LevelNote, "layout", "bits=38/5/0/17")
}

func TestDoctorForPeople(t *testing.T) {
	t.Parallel()
	code, out, errs := call(t, "", "doctor", "--store="+sqliteURL(t), "--replicas=20")
	require.Equal(t, exitNo, code)
	require.Contains(t, out, "fault  pool           20 replicas; 32 worker ids, sufficient for 16\n                      -> ")
	require.Contains(t, errs, "the doctor found faults: 1")
}

// A file of a mode without a center has settings that no center takes.
func TestDoctorOnAValidFileOfAnotherMode(t *testing.T) {
	t.Chdir(t.TempDir())
	url := sqliteURL(t)
	for _, ids := range []string{
		"{namespace: a, mode: local, local: {worker: 3, dir: /var/lib/snowlease}}",
		"{namespace: a, mode: local, lease: {ttl: 3s}}",
		"{namespace: a, mode: redis-sequence, store: {skew: 20s}}",
	} {
		require.NoError(t, os.WriteFile("app.yaml", []byte("idworker: "+ids+"\n"), 0o600))
		code, out, errs := call(t, "", "config", "check", "app.yaml")
		require.Zero(t, code, out+errs)
		_, out, errs = call(t, "", "doctor", "--config=app.yaml", "--store="+url)
		require.Contains(t, out, "note   mode           app.yaml has mode: ", errs)
		_, _, errs = call(t, "", "init", "--config=app.yaml", "--store="+url)
		require.Contains(t, errs, "which lends no worker ids: there is no namespace to create")
	}
}
