package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// A diagnosis is what the doctor finds, such as "fault pool: 17 replicas -> choose a layout".
type diagnosis []string

// examine calls the doctor with more arguments. All its faults come with advice.
func (s shell) examine(arguments string) (all diagnosis) {
	s.Helper()
	code, out, errs := call(s.T, "", append(strings.Fields("doctor --json "+arguments), s.more...)...)
	faults := 0
	for line := range strings.Lines(out) {
		var f lease.Finding
		require.NoError(s, json.Unmarshal([]byte(line), &f))
		if f.Level == lease.LevelFault {
			faults++
			require.NotEmpty(s, f.Advice, "%+v", f)
		}
		all = append(all, fmt.Sprintf("%s %s: %s -> %s", f.Level, f.Check, f.Seen, f.Advice))
	}
	require.NotEmpty(s, all, errs)
	require.Equal(s, faults > 0, code == exitNo, "%d %q %s", code, all, errs)
	return all
}

// has reports whether there is a finding of a level and a check with a text: "fault pool: 17".
func (all diagnosis) has(want string) (found bool) {
	check, text, _ := strings.Cut(want, ": ")
	for _, f := range all {
		found = found || strings.HasPrefix(f, check+": ") && strings.Contains(f, text)
	}
	return found
}

// finds requires a finding of the doctor, and no fault of another check.
func (s shell) finds(arguments, want string) (all diagnosis) {
	s.Helper()
	all = s.examine(arguments)
	require.True(s, all.has(want), "no %s among %q", want, all)
	_, check, _ := strings.Cut(want, " ")
	check, _, _ = strings.Cut(check, ":")
	for _, f := range all {
		require.False(s, strings.HasPrefix(f, "fault ") && !strings.HasPrefix(f, "fault "+check+": "), "%s, but also %s", want, f)
	}
	return all
}

func redisURL(s *testserver.Server) string { return "redis://" + s.Addr() }

// A persistent Redis. With replicas it uses snapshots: a Redis that rewrites its append-only
// file keeps writing for a moment after it is killed.
var (
	kept  = []string{"--appendonly", "yes"}
	saved = []string{"--save", "3600 1"}
)

// Servers that sync what they commit. Test servers do not.
var (
	durable         = []string{"--innodb-flush-log-at-trx-commit=1", "--sync-binlog=1", "--innodb-flush-method=fsync"}
	durablePostgres = []string{"-c", "fsync=on", "-c", "full_page_writes=on", "-c", "synchronous_commit=on"}
)

func do(t *testing.T, s *testserver.Server, args ...any) {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: s.Addr()})
	require.NoError(t, c.Do(context.WithoutCancel(t.Context()), args...).Err())
	require.NoError(t, c.Close())
}

// Well-configured stores have no faults, empty or in use.
func TestDoctorFindsNothing(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) string{
		"redis":    func(t *testing.T) string { return redisURL(testserver.NewRedis(t, kept...)) },
		"sqlite":   sqliteURL,
		"mariadb":  func(t *testing.T) string { return mysqlURL(t, testserver.NewMariaDB(t, durable...).DSN()) },
		"mysql":    func(t *testing.T) string { return mysqlURL(t, testserver.NewMySQL(t, durable...).DSN()) },
		"postgres": func(t *testing.T) string { return testserver.NewPostgres(t, durablePostgres...).DSN() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, open(t))
			s.numbers.ok("doctor", "note   namespace      none is given; rights were tried for snowlease-doctor")
			s.ok("init --yes")
			s.ok("doctor --replicas=16")
			for _, check := range []string{"clock", "incarnation", "rights", "namespace", "layout", "workers", "pool"} {
				s.finds("--replicas=16", "ok "+check)
			}
		})
	}
}

// Without a configuration, the doctor judges what the namespace is pinned to, and otherwise
// compares both. What is on record may say less or more.
func TestDoctorReadsThePin(t *testing.T) {
	t.Parallel()
	s := onSQLite(t)
	s.finds("--replicas=17", "fault pool: 17 replicas; 32 worker ids, sufficient for 16")
	s.finds("", "ok layout: the default layout, epoch=1577808000000 unit=1ms bits=41/5/0/17: ")
	s.finds("", "note namespace: nothing is on record for orders")
	s.ok("init --yes --preset=wide")
	s.finds("--replicas=17", "ok layout: epoch=1577808000000 unit=1ms bits=41/10/0/12: ")
	s.finds("--replicas=17", "ok pool: 17 replicas; 1024 worker ids")
	s.finds("", "ok namespace: layout={epoch=1577808000000 unit=1ms bits=41/10/0/12} pool=1024")
	s.finds("--bits=41/5/0/17", "fault namespace: bits=41/10/0/12")
	s.exits(exitNo, "doctor --replicas=600", "fault  pool           600 replicas; 1024 worker ids, sufficient for 512\n                      -> ", "the doctor found faults: 1")
	s.ok("quarantine --yes")
	s.finds("", "note quarantine: operator")

	pin := func(rest string) {
		s.sql("UPDATE snowlease_meta SET quarantine_ms = 0, pin = 'layout={epoch=1577808000000 unit=1ms bits=41/5/0/17} pool=32 %s'", rest)
	}
	for _, c := range []struct{ pin, config, want string }{
		{"max_ttl=30s skew=2s", "30s", "ok namespace: max_ttl=30s skew=2s"},
		{"max_ttl=30s skew=2s", "1m", "note namespace: raises the pin to "},
		{"max_ttl=24h0m0s skew=2s", "30s", "note namespace: the pin exceeds the configuration"},
		{"max_ttl=1m0s skew=2s falls_to=30s/2s at=0", "1m", "ok namespace: falls_to=30s/2s"},
	} {
		pin(c.pin)
		file := writeFile(t, "namespace: orders\nmode: db\nlease: {max_ttl: "+c.config+"}\n")
		in(t, s.numbers.more...).finds("--key= --config="+file, c.want)
	}
	// Its time has run out since.
	old := snowflake.Layout{Epoch: time.Now().Add(-6 * 365 * 24 * time.Hour).UnixMilli(), TimeBits: 38, WorkerBits: 5, SequenceBits: 17}
	s.sql("UPDATE snowlease_meta SET pin = 'layout={%s} pool=32 max_ttl=30s skew=2s'", old)
	s.finds("", "note layout: bits=38/5/0/17")
	s.sql("UPDATE snowlease_meta SET pin = 'layout={epoch=1577808000000 unit=1ms bits=41/5/0/4} pool=32 max_ttl=30s skew=2s'")
	s.finds("", "note layout: only 16 ids in 1ms for each worker id")
}

func TestDoctorOnSQLite(t *testing.T) {
	t.Parallel()
	url := sqliteURL(t)
	for store, want := range map[string]string{
		url + "?_pragma=synchronous(0)":                              "fault durability: synchronous is OFF",
		url + "?_pragma=synchronous(2)&_pragma=journal_mode(memory)": "fault durability: journal_mode memory",
		url + "?_pragma=synchronous(2)&_pragma=journal_mode(off)":    "fault durability: journal_mode off",
		"sqlite::memory:": "fault connect: in memory",
	} {
		in(t, "--store="+store).finds("", want)
	}
}

// Modes local and redis-sequence lend no worker ids, so init refuses their files, which may
// have settings that no center takes, and the doctor judges the server alone.
func TestModesWithoutWorkerIDs(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("a.db", nil, 0o600))
	for _, ids := range []string{
		"mode: local", "mode: redis-sequence", "mode: local, local: {worker: 3, dir: /var/lib/snowlease}",
		"mode: local, lease: {ttl: 3s}", "mode: redis-sequence, store: {skew: 20s}",
	} {
		require.NoError(t, os.WriteFile("app.yaml", []byte("idworker: {namespace: a, "+ids+"}\n"), 0o600))
		in(t).ok("check app.yaml")
		mode, _, _ := strings.Cut(ids, ",")
		in(t).exits(exitUsage, "init --config=app.yaml --store=sqlite:app.db", "app.yaml has "+mode+", which lends no worker ids: there is no namespace to create")
		require.NoFileExists(t, "app.db")
		all := in(t, "--store=sqlite:a.db").finds("--config=app.yaml --replicas=100", "note mode: app.yaml has "+mode+", which lends no worker ids")
		require.NotRegexp(t, `\w+ (namespace|pool|workers|times): `, strings.Join(all, "\n"))
	}
}

// The doctor judges the worker ids that the configuration may borrow.
func TestDoctorOnARangeOfWorkerIDs(t *testing.T) {
	t.Parallel()
	s := onSQLite(t)
	app := s.numbers.with("--config=" + writeFile(t, "idworker: {namespace: orders, workers: 4-7}\n"))
	app.ok("init --yes")
	app.finds("--replicas=2", "ok pool: 2 replicas; 4 worker ids, sufficient for 2")
	app.finds("--replicas=3", "fault pool: 3 replicas; 4 worker ids, sufficient for 2")
	app.finds("--replicas=5", "fault pool: 5 replicas; 4 worker ids")
	app.finds("", "ok workers: 4 of 4 are free")
	s.sql("UPDATE snowlease_slot SET owner = 'o', expires_ms = 1000 * (unixepoch() + 20) WHERE slot BETWEEN 3 AND 7")
	app.finds("", "note workers: 0 of 4 are free")
	const left = "UPDATE snowlease_slot SET owner = '', holder = '%s', expires_ms = 0, hwm_ms = 1000 * (unixepoch() + 20)"
	s.sql(left, "web-1")
	app.finds("", "note workers: 0 of 4 are free")
	s.sql(left, "") // as in a new namespace
	app.finds("", "ok workers: 4 of 4 are free")
}
