package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// Every command takes the store from db or redis of config.yaml. --store and the environment
// win.
func TestStoreFromTheConfigFile(t *testing.T) {
	t.Chdir(t.TempDir())
	srv := miniredis.RunT(t)
	srv.RequireUserAuth("app", "s3cret")
	write := func(name, text string) { require.NoError(t, os.WriteFile(name, []byte(text), 0o600)) }
	fine := func(want string, args ...string) {
		t.Helper()
		code, out, errs := call(t, "", args...)
		require.Zero(t, code, out+errs)
		require.Contains(t, out, want)
		require.NotContains(t, out+errs, "s3cret")
	}
	refused := func(want string, args ...string) {
		t.Helper()
		code, out, errs := call(t, "", args...)
		require.NotZero(t, code, out)
		require.Contains(t, out+errs, want)
		require.NotContains(t, out+errs, "s3cret")
	}
	// miniredis does not tell its run_id, so quarantine is read from the file too.
	ids := "idworker: {namespace: orders, preset: wide, store: {quarantine: never}}\n"
	onRedis := "redis: {addrs: [" + srv.Addr() + "], username: app, password: s3cret, timeout: 20s}\n"
	write(configFile, ids+onRedis)
	fine(`created namespace "orders" at redis `+srv.Addr()+` db 0, which is now pinned to layout={epoch=1577808000000 unit=1ms bits=41/10/0/12}`, "init", "--yes")
	refused("ok     config         config.yaml", "doctor") // miniredis has no append-only file
	fine("0 of 1024 worker ids are lent", "workers", "--namespace=orders")
	fine("orders at redis "+srv.Addr(), "workers")
	for _, verb := range []string{"quarantine", "retire", "release"} { // they write
		args := []string{verb}
		if verb == "release" {
			args = append(args, "--worker=0", "--token=1")
		}
		refused("--namespace is empty", args...)
	}
	fine("created 1", "segment", "create", "--name=bills")
	fine("goes on above 7", "segment", "resume", "--name=bills", "--above=7", "--yes")
	refused("and redis "+srv.Addr()+" db 0 is none: name the database with --store", "segment", "create", "--store=redis://app:s3cret@"+srv.Addr(), "--name=bills.acme", "--period=2026-11-01", "--start=21")
	fine("", "retire", "--namespace=orders", "--yes", "--reason=moved")
	refused(`config.yaml does not configure the namespace "bills": name its store with --store or `+envStore, "workers", "--namespace=bills")

	write("app.yaml", "app:\n  ids: {namespace: bills}\n  db: {dsn: app.db, max_open: 3}\n"+onRedis)
	app := []string{"--config=app.yaml", "--key=app.ids"}
	fine(`created namespace "bills" at sqlite app.db`, append([]string{"init", "--yes"}, app...)...)
	fine("of 32 worker ids are lent", append([]string{"workers", "--namespace=bills"}, app...)...)
	fine("bills at sqlite app.db", append([]string{"workers"}, app...)...)
	fine("bills at sqlite app.db", append([]string{"workers", "--store=sqlite:app.db"}, app...)...)
	refused("no such file", "workers", "--store=sqlite:app.db", "--config=none.yaml")
	refused("differ", append([]string{"workers", "--namespace=orders"}, app...)...)
	refused("no such file", "workers", "--namespace=orders", "--config=none.yaml")

	// A flag and the environment win.
	fine(`at sqlite flag.db`, "init", "--yes", "--store=sqlite:flag.db")
	t.Setenv(envStore, "sqlite:env.db")
	fine(`at sqlite env.db`, "init", "--yes")
	fine("orders at sqlite env.db", "workers")
	fine(`at sqlite flag2.db`, "init", "--yes", "--store=sqlite:flag2.db")
	t.Setenv(envStore, "")

	for text, want := range map[string]string{
		ids + onRedis + "db: {dsn: app.db}\n":                                      "--store is empty, and config.yaml has both db and redis: name one by mode: db or redis in the file, or by --store or " + envStore,
		"idworker: {namespace: orders, mode: redis-sequence}\ndb: {dsn: app.db}\n": "config.yaml has mode: redis-sequence, but no redis: give --store",
		"idworker: {namespace: orders, mode: db}\n" + onRedis:                      "config.yaml has mode: db, but no db: give --store",
		ids + "redis: {addrs: [], password: s3cret}\n":                             "config.yaml has neither db nor redis",
		ids: "config.yaml has neither db nor redis",
		ids + "redis: {addrs: ['app:s3cret@h:1']}\n":                       "config.yaml: providers: redis.addrs[0] is a URL",
		ids + "redis: {addrs: [h:1], timeout: s3cret}\n":                   "config.yaml: the values of redis are not of the types",
		ids + "redis: {addrs: [h:1], password: s3cret, tsl: true}\n":       `config.yaml: unknown key "tsl" of redis: correct it, or name the store with --store or ` + envStore + " if redis is not read by package providers",
		"x: &x {max: 1}\n" + ids + "db: {<<: *x, dsn: app.db}\n":           `config.yaml: unknown key "max" of db: correct it`,
		ids + "db: {dsn: '${DB_DSN}'}\n":                                   "config.yaml: the DSN is refused: it is not the path of a file; variables in it are not replaced",
		ids + "db: s3cret\n":                                               "config.yaml: the values of db are not of the types",
		ids + "db: {driver: oracle, dsn: 'oracle://app:s3cret@h/db'}\n":    "config.yaml: db.driver is none of mysql, postgres and sqlite",
		ids + "db: {driver: postgres, dsn: 'postgres://app:s3cret/x@h'}\n": "config.yaml: the DSN is refused",
		ids + "db: {dsn: 'app:s3cret@tcp(127.0.0.1:1)/app'}\n":             "mysql 127.0.0.1:1/app: cannot connect",
		ids + "db: {dsn: 'postgres://app:s3cret@127.0.0.1:1/app'}\n":       "TLS in config.yaml",
	} {
		write(configFile, text)
		refused(want, "workers", "--namespace=orders", "--timeout=5s")
		fine("orders at sqlite flag.db", "workers", "--namespace=orders", "--store=sqlite:flag.db")
	}
}

// If the file has both stores, mode says which one has the worker ids, and segment_store
// which one has the numbers. The doctor notes a --store of the other kind.
func TestModeNamesTheStore(t *testing.T) {
	t.Chdir(t.TempDir())
	srv := miniredis.RunT(t)
	require.NoError(t, os.WriteFile("app.db", nil, 0o600))
	stores := "db: {dsn: app.db}\nredis: {addrs: [" + srv.Addr() + "], timeout: 1s}\n"
	inDB, inRedis := "sqlite app.db", "redis "+srv.Addr()
	for _, c := range []struct{ settings, worker, numbers string }{
		{"mode: db", inDB, "segment_store: db or redis in the file"},
		{"mode: redis, segment_store: db", inRedis, inDB},
		{"mode: db, segment_store: redis", inDB, inRedis},
		{"mode: redis-sequence, segment_store: db+redis", inRedis, inDB},
		{"mode: auto, segment_store: auto", "mode: db or redis in the file", "segment_store: db or redis in the file"},
	} {
		text := "idworker: {namespace: a, store: {quarantine: never}, " + c.settings + "}\n" + stores
		require.NoError(t, os.WriteFile(configFile, []byte(text), 0o600))
		_, out, errs := call(t, "", "quarantine", "--namespace=a", "--yes")
		require.Contains(t, out+errs, c.worker, c.settings)
		_, out, errs = call(t, "", "segment", "create", "--name=bills")
		require.Contains(t, out+errs, c.numbers, c.settings)
	}

	url := sqliteURL(t)
	for text, noted := range map[string]bool{
		"idworker: {namespace: a, mode: redis-sequence}\n":  true,
		"idworker: {namespace: a, mode: redis}\n" + stores:  true,
		"idworker: {namespace: a}\nredis: {addrs: [h:1]}\n": true,
		"idworker: {namespace: a, mode: db}\n" + stores:     false,
		"idworker: {namespace: a}\n" + stores:               false,
		"idworker: {namespace: a}\n":                        false,
	} {
		require.NoError(t, os.WriteFile("app.yaml", []byte(text), 0o600))
		_, out, errs := call(t, "", "doctor", "--config=app.yaml", "--store="+url)
		require.Contains(t, out, "ok     connect", errs)
		require.Equal(t, noted, strings.Contains(out, "note   mode           app.yaml has "), "%s %s", text, out)
	}
	require.NoError(t, os.WriteFile("app.yaml", []byte("idworker: {namespace: a, mode: db}\n"), 0o600))
	_, out, _ := call(t, "", "doctor", "--config=app.yaml", "--quarantine=never", "--store=redis://"+srv.Addr())
	require.Contains(t, out, "note   mode           app.yaml has mode: db, so the application does not use this store, which --store or "+envStore+" names\n")
}

// Modes local and redis-sequence lend no worker ids, so init refuses them, and the doctor
// judges the server alone.
func TestModesWithoutWorkerIDs(t *testing.T) {
	t.Chdir(t.TempDir())
	for mode, noted := range map[string]string{
		"local":          "app.yaml has mode: local, so the application does not use this store for worker ids",
		"redis-sequence": "app.yaml has mode: redis-sequence, which lends no worker ids",
	} {
		text := "idworker: {namespace: a, mode: " + mode + "}\ndb: {dsn: app.db}\nredis: {addrs: [h:1]}\n"
		require.NoError(t, os.WriteFile("app.yaml", []byte(text), 0o600))
		for _, store := range [][]string{nil, {"--store=sqlite:app.db"}} {
			code, out, errs := call(t, "", append([]string{"init", "--config=app.yaml"}, store...)...)
			require.Equal(t, exitUsage, code, out)
			require.Contains(t, errs, "app.yaml has mode: "+mode+", which lends no worker ids: there is no namespace to create")
			require.NoFileExists(t, "app.db")
		}
		_, all := examine(t, sqliteURL(t), "--config=app.yaml", "--replicas=100")
		requireFinding(t, all, lease.LevelNote, "mode", noted)
		for _, f := range all {
			require.NotContains(t, []string{"namespace", "pool", "workers", "times"}, f.Check)
		}
	}
}

// The doctor judges the worker ids that the configuration may borrow.
func TestDoctorOnARangeOfWorkerIDs(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("app.yaml", []byte("idworker: {namespace: a, workers: 4-7}\ndb: {dsn: app.db}\n"), 0o600))
	code, _, errs := call(t, "", "init", "--yes", "--config=app.yaml")
	require.Zero(t, code, errs)
	look := func(replicas string) []lease.Finding {
		_, all := examine(t, "sqlite:app.db", "--config=app.yaml", "--replicas="+replicas)
		return all
	}
	requireFinding(t, look("2"), lease.LevelOK, "pool", "2 replicas; 4 worker ids, sufficient for 2")
	requireFinding(t, look("3"), lease.LevelFault, "pool", "3 replicas; 4 worker ids, sufficient for 2")
	requireFinding(t, look("5"), lease.LevelFault, "pool", "5 replicas; 4 worker ids")
	all := look("2")
	requireFinding(t, all, lease.LevelOK, "workers", "4 of 4 are free")
	sqlDo(t, "sqlite", "app.db", "UPDATE snowlease_slot SET owner = 'o', expires_ms = 1000 * (unixepoch() + 20) WHERE slot BETWEEN 3 AND 7")
	requireFinding(t, look("2"), lease.LevelNote, "workers", "0 of 4 are free")
	const left = "UPDATE snowlease_slot SET owner = '', holder = '%s', expires_ms = 0, hwm_ms = 1000 * (unixepoch() + 20)"
	sqlDo(t, "sqlite", "app.db", fmt.Sprintf(left, "web-1"))
	requireFinding(t, look("2"), lease.LevelNote, "workers", "0 of 4 are free")
	sqlDo(t, "sqlite", "app.db", fmt.Sprintf(left, "")) // as in a new namespace
	requireFinding(t, look("2"), lease.LevelOK, "workers", "4 of 4 are free")
}

// A namespace at another key of config.yaml leads to an error that names the key.
func TestNamespaceAtAnotherKey(t *testing.T) {
	t.Chdir(t.TempDir())
	for text, key := range map[string]string{
		"idworker: {namespace: orders}\naudit: {namespace: audit, preset: wide}\ndb: {dsn: app.db}\n":              "audit",
		"metrics: {namespace: audit, port: 9}\napp: {second: {namespace: audit, preset: wide}}\ndb: {dsn: app.db}": "app.second",
		"app:\n  idworker: {namespace: audit, preset: wide}\n  db: {dsn: app.db}\nredis: {addrs: ['h:1']}\n":       "app.idworker",
	} {
		require.NoError(t, os.WriteFile(configFile, []byte(text), 0o600))
		named := "--config config.yaml --key " + key
		for _, args := range [][]string{{"init", "--yes"}, {"workers"}, {"retire", "--yes"}, {"workers", "--key=" + key}} {
			code, _, errs := call(t, "", append(args, "--namespace=audit")...)
			require.Equal(t, exitUsage, code, errs)
			require.Contains(t, errs, named+"\n", "%s %v", text, args)
		}
		if key == "audit" {
			_, _, errs := call(t, "", "workers", "--namespace=audit", "--config=config.yaml")
			require.Contains(t, errs, "differ: leave one of them out, or name its key: "+named+"\n")
		}
		// The named flags work.
		for _, verb := range []string{"init", "workers"} {
			code, out, errs := call(t, "yes\n", append(strings.Fields(named), verb, "--namespace=audit")...)
			require.Zero(t, code, errs)
			require.Contains(t, out, "at sqlite app.db")
			require.Contains(t, out, "1024")
		}
		require.NoError(t, os.Remove("app.db"))
	}
	code, _, errs := call(t, "", "workers", "--namespace=bills")
	require.Equal(t, exitUsage, code)
	require.Contains(t, errs, `config.yaml does not configure the namespace "bills": name its store with --store`)
}

// A variable does not beat the store of a file that is named.
func TestTwoStoresAreRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, db := range []string{"dev.db", "prod.db"} {
		initialize(t, "sqlite:"+db)
	}
	require.NoError(t, os.WriteFile("prod.yaml", []byte("idworker: {namespace: orders}\ndb: {dsn: prod.db}\n"), 0o600))
	require.NoError(t, os.WriteFile("ids.yaml", []byte("idworker: {namespace: orders}\n"), 0o600))
	t.Setenv(envStore, "sqlite:dev.db")
	for _, args := range [][]string{
		{"quarantine", "--yes"},
		{"retire", "--yes"},
		{"release", "--yes", "--worker=0", "--token=1"},
		{"init", "--yes"},
		{"doctor"},
		{"workers"},
		{"segment", "create", "--name=a"},
		{"segment", "resume", "--name=a", "--above=1"},
	} {
		if args[0] != "segment" {
			args = append(args, "--namespace=orders")
		}
		code, _, errs := call(t, "", append(args, "--config=prod.yaml")...)
		require.Equal(t, exitUsage, code, "%v: %s", args, errs)
		require.Contains(t, errs, envStore+" and prod.yaml both name a store: unset "+envStore+" to use that of the file, or name one with --store\n")
	}
	for want, args := range map[string][]string{
		"dev.db":  {"--config=ids.yaml"}, // names no store
		"prod.db": {"--config=ids.yaml", "--store=sqlite:prod.db"},
		"a.db":    {"--config=prod.yaml", "--store=sqlite:a.db"},
	} {
		_, out, errs := call(t, "", append([]string{"init", "--yes"}, args...)...)
		require.Contains(t, out+errs, "at sqlite "+want)
	}
	t.Setenv(envStore, "")
	code, out, errs := call(t, "", "quarantine", "--yes", "--namespace=orders", "--config=prod.yaml")
	require.Zero(t, code, errs)
	require.Contains(t, out, "at sqlite prod.db lends only above")
}

// Whoever answers a question sees which store it is about, and what named that.
func TestQuestionsNameTheStore(t *testing.T) {
	t.Chdir(t.TempDir())
	srv := miniredis.RunT(t)
	srv.RequireAuth("s3cret")
	require.NoError(t, os.WriteFile(configFile, []byte("idworker: {namespace: orders, store: {quarantine: never}}\nredis: {addrs: ["+srv.Addr()+"], password: s3cret}\n"), 0o600))
	asks := func(from string, args ...string) {
		t.Helper()
		code, _, errs := call(t, "", args...)
		require.Equal(t, exitNo, code, errs)
		require.Contains(t, errs, "Store: redis "+srv.Addr()+" db 0 (by "+from+")\n")
		require.Contains(t, errs, " Type yes to continue: ")
		require.NotContains(t, errs, "s3cret")
	}
	asks(configFile, "init")
	require.Zero(t, first(call(t, "yes\n", "init")))
	store := "redis://:s3cret@" + srv.Addr()
	c := openCenter(t, store, "never")
	g := lend(t, c, "orders")
	asks(configFile, "quarantine", "--namespace=orders")
	asks("--store", "retire", "--namespace=orders", "--store="+store)
	t.Setenv(envStore, store)
	asks(envStore, "retire", "--namespace=orders", "--quarantine=never")
	asks(envStore, "release", "--namespace=orders", fmt.Sprint("--worker=", g.Worker), fmt.Sprint("--token=", g.Token), "--quarantine=never")
}
