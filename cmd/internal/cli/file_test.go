package cli

import (
	"fmt"
	"os"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// A file in the working folder is not read, and a file that is named is read for all that it says
// of the namespace, but not for the store.
func TestConfigOfTheApplication(t *testing.T) {
	t.Chdir(t.TempDir())
	text := "app:\n  ids: {namespace: bills, preset: wide, store: {table_prefix: bills_}}\n  db: {dsn: elsewhere.db}\n"
	for _, name := range []string{"config.yaml", "app.yaml"} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	refused := func(want string, args ...string) {
		t.Helper()
		code, out, errs := call(t, "", args...)
		require.Equal(t, exitUsage, code, out)
		require.Contains(t, errs, want)
	}
	app := func(args ...string) []string { return append(args, "--config=app.yaml", "--key=app.ids") }
	refused("--store is empty", app("init")...)
	refused("--store is empty", "workers", "--namespace=bills")
	t.Setenv(envStore, "sqlite:app.db")
	refused("--namespace is empty", "init")
	refused("app.yaml: there is nothing at the key idworker", "init", "--config=app.yaml")
	refused("--config and --namespace are both given", app("init", "--namespace=bills")...)
	refused("--config and --quarantine are both given", app("workers", "--quarantine=never")...)
	refused("--config and --preset are both given", app("doctor", "--preset=wide")...)
	code, out, errs := call(t, "", app("init", "--yes")...)
	require.Zero(t, code, errs)
	require.Contains(t, out, `created namespace "bills" at sqlite app.db, which is now pinned to layout={epoch=1577808000000 unit=1ms bits=41/10/0/12}`)
	require.Contains(t, out, "(by app.yaml)\n")
	for _, verb := range []string{"workers", "quarantine", "doctor", "retire"} {
		args := app(verb)
		if verb == "quarantine" || verb == "retire" {
			args = append(args, "--yes")
		}
		code, out, errs = call(t, "", args...)
		require.Zero(t, code, errs)
		require.Contains(t, out, map[bool]string{true: "app.yaml", false: "bills"}[verb == "doctor"])
	}
	_, _, errs = call(t, "", "workers", "--namespace=bills") // without the prefix of the file
	require.Contains(t, errs, "nothing is on record")
	require.NoFileExists(t, "elsewhere.db")
}

// Modes local and redis-sequence lend no worker ids, so init refuses them, and the doctor
// judges the server alone.
func TestModesWithoutWorkerIDs(t *testing.T) {
	t.Chdir(t.TempDir())
	for mode, noted := range map[string]string{
		"local":          "app.yaml has mode: local, which lends no worker ids",
		"redis-sequence": "app.yaml has mode: redis-sequence, which lends no worker ids",
	} {
		text := "idworker: {namespace: a, mode: " + mode + "}\n"
		require.NoError(t, os.WriteFile("app.yaml", []byte(text), 0o600))
		code, out, errs := call(t, "", "init", "--config=app.yaml", "--store=sqlite:app.db")
		require.Equal(t, exitUsage, code, out)
		require.Contains(t, errs, "app.yaml has mode: "+mode+", which lends no worker ids: there is no namespace to create")
		require.NoFileExists(t, "app.db")
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
	require.NoError(t, os.WriteFile("app.yaml", []byte("idworker: {namespace: a, workers: 4-7}\n"), 0o600))
	code, _, errs := call(t, "", "init", "--yes", "--config=app.yaml", "--store=sqlite:app.db")
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

// Whoever answers a question sees which store it is about, and what named that.
func TestQuestionsNameTheStore(t *testing.T) {
	t.Chdir(t.TempDir())
	srv := miniredis.RunT(t)
	srv.RequireAuth("s3cret")
	require.NoError(t, os.WriteFile("app.yaml", []byte("idworker: {namespace: orders, store: {quarantine: never}}\n"), 0o600))
	asks := func(from string, args ...string) {
		t.Helper()
		code, _, errs := call(t, "", args...)
		require.Equal(t, exitNo, code, errs)
		require.Contains(t, errs, "Store: redis "+srv.Addr()+" db 0 (by "+from+")\n")
		require.Contains(t, errs, " Type yes to continue: ")
		require.NotContains(t, errs, "s3cret")
	}
	store := "redis://:s3cret@" + srv.Addr()
	asks("--store", "init", "--config=app.yaml", "--store="+store)
	require.Zero(t, first(call(t, "yes\n", "init", "--config=app.yaml", "--store="+store)))
	c := openCenter(t, store, "never")
	g := lend(t, c, "orders")
	asks("--store", "retire", "--namespace=orders", "--store="+store)
	t.Setenv(envStore, store)
	asks(envStore, "quarantine", "--config=app.yaml")
	asks(envStore, "release", "--namespace=orders", fmt.Sprint("--worker=", g.Worker), fmt.Sprint("--token=", g.Token), "--quarantine=never")
}
