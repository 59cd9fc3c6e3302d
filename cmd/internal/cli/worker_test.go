package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
)

// After init, a namespace lends at once. workers shows the holders, release takes a worker id
// back without lowering its mark, and quarantine makes the namespace lend above everything
// that may have been forgotten.
func TestOperations(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, store, ns string, more ...string) {
		args := func(verb string, a ...string) []string {
			return append(append([]string{verb, "--store=" + store, "--namespace=" + ns}, more...), a...)
		}
		code, _, errs := call(t, "", args("workers")...)
		require.Equal(t, exitFailed, code)
		require.Contains(t, errs, "nothing is on record for the namespace")
		require.Contains(t, errs, ": check the spelling of "+ns+", --prefix and --store")

		code, out, errs := call(t, "", args("init", "--yes")...)
		require.Zero(t, code, errs)
		require.Contains(t, out, `created namespace "`+ns+`" at `)
		require.Contains(t, out, "layout={epoch=1577808000000 unit=1ms bits=41/5/0/17} pool=32 max_ttl=30s skew=2s ttl=30s")
		code, out, errs = call(t, "", args("init", "--yes")...)
		require.Equal(t, exitNo, code)
		require.Contains(t, errs, "exists already")
		require.Contains(t, errs, "nothing changed")
		require.Empty(t, out)

		c := openCenter(t, store, more...)
		g := lend(t, c, ns)
		code, out, errs = call(t, "", args("workers")...)
		require.Zero(t, code, errs)
		require.Contains(t, out, "1 of 32 worker ids are lent")
		require.Contains(t, out, "orders@host:?[1m7", "no command to the terminal")
		require.NotContains(t, out, "free")
		code, out, _ = call(t, "", args("workers", "--all", "--json")...)
		require.Zero(t, code)
		var v workerView
		require.NoError(t, json.Unmarshal([]byte(out), &v))
		require.Len(t, v.Workers, 32)
		require.Equal(t, workerLine{
			Worker: g.Worker, State: "lent", Holder: "orders@host:?[1m7", Since: at(g.Since), Expires: at(g.Ceiling), Mark: at(g.Ceiling), Token: g.Token,
		}, v.Workers[g.Worker])

		release := args("release", fmt.Sprint("--worker=", g.Worker), fmt.Sprint("--token=", g.Token))
		code, _, errs = call(t, "no\n", release...)
		require.Equal(t, exitNo, code)
		require.Contains(t, errs, "nothing changed")
		code, _, errs = call(t, "", args("release", fmt.Sprint("--worker=", g.Worker), "--token=1", "--yes")...)
		require.Equal(t, exitNo, code)
		require.Contains(t, errs, "is not held under token 1")
		code, _, _ = call(t, "", args("release", "--worker=99", "--token=1", "--yes")...)
		require.Equal(t, exitNo, code)
		code, out, errs = call(t, "yes\n", release...)
		require.Zero(t, code, errs)
		require.Contains(t, errs, "Take worker")
		require.Contains(t, out, "it can be lent again after "+at(g.Ceiling))
		code, _, _ = call(t, "yes\n", release...)
		require.Equal(t, exitNo, code)
		_, out, _ = call(t, "", args("workers")...)
		require.Contains(t, out, "ahead")

		code, _, _ = call(t, "", args("quarantine")...)
		require.Equal(t, exitNo, code, "not confirmed")
		code, out, errs = call(t, "", args("quarantine", "--yes", "--reason=backup restored")...)
		require.Zero(t, code, errs)
		_, until, _ := strings.Cut(strings.TrimSpace(out), " lends only above ")
		end, err := time.Parse(stamp, until)
		require.NoError(t, err)
		require.GreaterOrEqual(t, end.UnixMilli(), g.Now+32_000)
		_, out, _ = call(t, "", args("workers")...)
		require.Contains(t, out, "\npossible loss of records: by hand: backup restored\nids under newly lent worker ids carry times up to ")
		require.Contains(t, out, " ahead until "+until+"; with exact_times, none is lent until then\n")

		code, _, _ = call(t, "", args("retire")...)
		require.Equal(t, exitNo, code, "not confirmed")
		code, out, errs = call(t, "", args("retire", "--yes", "--reason=moved to orders-2")...)
		require.Zero(t, code, errs)
		require.Contains(t, out, "is retired: moved to orders-2")
		code, out, _ = call(t, "", args("retire", "--yes")...)
		require.Zero(t, code)
		require.Contains(t, out, "is retired: moved to orders-2", "the first reason stays")
		_, out, _ = call(t, "", args("workers")...)
		require.Contains(t, out, "retired: moved to orders-2\n")
		_, out, _ = call(t, "", args("doctor")...)
		require.Contains(t, out, "retired: moved to orders-2")

		code, out, errs = call(t, "", append([]string{"segment", "create", "--store=" + store, "--name=" + ns, "--start=10"}, more...)...)
		require.Zero(t, code, errs)
		require.Contains(t, out, "created 10")
		code, _, errs = call(t, "", append([]string{"segment", "create", "--store=" + store, "--name=" + ns}, more...)...)
		require.Equal(t, exitNo, code, errs)
		resume := func(answer string, a ...string) (code int, out, errs string) {
			return call(t, answer, append(append([]string{"segment", "resume", "--store=" + store, "--name=" + ns}, a...), more...)...)
		}
		code, out, errs = resume("", "--above=5000")
		require.Equal(t, exitNo, code)
		require.Contains(t, errs, `The greatest number of "`+ns+`" on record is 9. Continue above 5000?`)
		require.Contains(t, errs, "Stop the processes that use it first, or leave room: twice max_step for each.")
		require.Empty(t, out)
		code, out, errs = resume("yes\n", "--above=5000")
		require.Zero(t, code, errs)
		require.Contains(t, errs, `on record is 9.`, "not confirmed before")
		require.Contains(t, out, "goes on above 5000\n")
		code, out, errs = resume("yes\n", "--above=10")
		require.Zero(t, code, errs)
		require.Contains(t, errs, `on record is 5000. Continue above 5000?`)
		require.Contains(t, out, "goes on above 5000\n")
		_, out, _ = resume("", "--above=10", "--yes")
		require.Contains(t, out, "goes on above 5000\n", "no number is lost")
		code, _, errs = resume("", "--yes", "--above=9223372036854775807")
		require.Equal(t, exitUsage, code)
		require.Contains(t, errs, "--above 9223372036854775807 leaves no number")
		code, _, errs = resume("", "--yes", "--above=5000", "--period=none", "--name="+ns+".none")
		require.Equal(t, exitFailed, code)
		require.Contains(t, errs, "the name is not in the store")

		list := func(a ...string) (code int, out, errs string) {
			return call(t, "", append(append([]string{"segment", "list", "--store=" + store}, a...), more...)...)
		}
		code, out, errs = list()
		if strings.HasPrefix(store, "redis:") {
			require.Equal(t, exitFailed, code, out)
			require.Contains(t, errs, "has no list of its sequences: a SQL database has one")
			return
		}
		require.Zero(t, code, errs)
		require.Contains(t, out, fmt.Sprintf("NUMBER  PERIOD      NAME\n%19d  %-10s  %s\n", 5000, "", ns))
		_, out, _ = list("--series=" + ns)
		require.Contains(t, out, "no sequences at ")
		scope := func(verb string, a ...string) (code int, text string) {
			code, out, errs := call(t, "", append(append([]string{"segment", verb, "--store=" + store, "--name=" + ns + ".acme"}, a...), more...)...)
			return code, out + errs
		}
		code, text := scope("create", "--start=43")
		require.Equal(t, exitUsage, code)
		require.Contains(t, text, "may be of a series: add --period, the first day of the period of --start 43")
		code, text = scope("create", "--period=2026-11-01", "--start=31")
		require.Zero(t, code, text)
		require.Contains(t, text, "created 31 in the period from 2026-11-01 on")
		code, text = scope("resume", "--above=42", "--yes")
		require.Equal(t, exitUsage, code)
		require.Contains(t, text, "may be of a series: add --period, the first day of the period of --above 42")
		for _, above := range []string{"202611010000000041", "42"} {
			code, text = scope("resume", "--period=2026-11-01", "--above="+above, "--yes")
			require.Equal(t, above == "42", code == 0, text)
		}
		require.Contains(t, text, "goes on above 42 in the period from 2026-11-01 on")
		code, text = scope("resume", "--period=none", "--above=202611010000000041", "--yes")
		require.Zero(t, code, text)
		require.Contains(t, text, "goes on above 202611010000000042\n", "as it is on record")
		_, out, _ = list("--series=" + ns)
		require.Equal(t, fmt.Sprintf("%19s  %-10s  %s\n%19d  %s  %s\n", "NUMBER", "PERIOD", "NAME", 42, "2026-11-01", ns+".acme"), out)
		_, out, _ = list("--series="+ns, "--json")
		require.JSONEq(t, fmt.Sprintf(`{"name":"%s.acme","given":202611010000000042,"period":"2026-11-01","number":42}`, ns), out)
	})
}

// init cannot tell a new namespace from a lost one, so it asks. Until it is answered, it
// changes nothing. A namespace on record needs no question.
func TestUnknownNamespaceIsAsked(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, store, ns string, more ...string) {
		args := func(verb string) []string {
			return append([]string{verb, "--store=" + store, "--namespace=" + ns}, more...)
		}
		for _, answer := range []string{"", "no\n"} { // "" as in a script
			code, out, errs := call(t, answer, args("init")...)
			require.Equal(t, exitNo, code)
			require.Contains(t, errs, `Nothing is on record for namespace "`+ns+`". If the records were lost, init makes ids come twice.`)
			require.Contains(t, errs, "not confirmed, nothing changed (--yes confirms without asking)")
			require.Empty(t, out)
			_, _, errs = call(t, "", args("workers")...)
			require.Contains(t, errs, "nothing is on record")
		}
		code, _, errs := call(t, "yes\n", args("init")...)
		require.Zero(t, code, errs)
		code, _, errs = call(t, "", args("init")...)
		require.Equal(t, exitNo, code)
		require.Contains(t, errs, "exists already")
		require.NotContains(t, errs, "Type yes")
	})
	path := filepath.Join(t.TempDir(), "new.db")
	code, _, errs := call(t, "", "init", "--namespace=a", "--store=sqlite:"+path)
	require.Equal(t, exitNo, code)
	require.Contains(t, errs, "Store: sqlite "+path+" (by --store)\nNothing is on record")
	require.NoFileExists(t, path)
}

// A first start leaves a reason that workers and doctor put in the past: by then, records
// exist.
func TestFirstStart(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, store, ns string, more ...string) {
		r, err := idworker.Config{Namespace: ns}.Request()
		require.NoError(t, err)
		_, err = openCenter(t, store, more...).Acquire(t.Context(), r)
		require.ErrorAs(t, err, new(*lease.QuarantineError))
		const want = "possible loss of records: a process found nothing on record for this namespace (a first start looks the same)"
		args := append([]string{"--store=" + store, "--namespace=" + ns}, more...)
		_, out, errs := call(t, "", append([]string{"workers"}, args...)...)
		require.Contains(t, out, "\n"+want+"\nids under newly lent", errs)
		_, out, _ = call(t, "", append([]string{"doctor"}, args...)...)
		require.Contains(t, out, "note   quarantine     "+want+"; ids under newly lent")
	})
}

// init pins what an application with the same configuration asks for.
func TestInitByConfig(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "app:\n  ids:\n    namespace: orders\n    preset: wide\n    lease: {ttl: 1m}\n")
	store := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	code, out, errs := call(t, "", "init", "--yes", "--store="+store, "--config="+file, "--key=app.ids")
	require.Zero(t, code, errs)
	require.Contains(t, out, "bits=41/10/0/12} pool=1024 max_ttl=1m0s skew=2s ttl=1m0s")
	code, _, errs = call(t, "", "init", "--yes", "--store="+store, "--config="+writeFile(t, "idworker: {namespace: a b}"))
	require.Equal(t, exitUsage, code)
	require.Contains(t, errs, `config.yaml:1: namespace "a b"`)
}

// init changes nothing that is there.
func TestInitAgain(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, store, ns string, more ...string) {
		again := func(a ...string) (code int, out, errs string) {
			return call(t, "", append(append([]string{"init", "--yes", "--store=" + store, "--namespace=" + ns}, more...), a...)...)
		}
		code, out, errs := again()
		require.Zero(t, code, errs)
		require.Contains(t, out, "bits=41/5/0/17} pool=32 max_ttl=30s skew=2s ttl=30s (by the flags and the defaults)\n")
		code, _, errs = again("--preset=wide")
		require.Equal(t, exitNo, code)
		require.Contains(t, errs, "nothing changed: it stays pinned to layout={epoch=1577808000000 unit=1ms bits=41/5/0/17} pool=32")

		c := openCenter(t, store, more...)
		g := lend(t, c, ns)
		require.Less(t, g.Floor, g.Now, "exact times")
		require.NoError(t, c.Retire(t.Context(), ns, "moved"))
		code, _, errs = again("--preset=wide")
		require.Equal(t, exitNo, code)
		require.Contains(t, errs, "nothing changed: lease: the namespace is retired: moved")
	})
}

func first(code int, _, _ string) int { return code }

func TestNoSecretIsShown(t *testing.T) {
	t.Parallel()
	for _, store := range []string{
		"redis://app:s3cret@127.0.0.1:1", "mysql://app:s3cret@127.0.0.1:1/app", "postgres://app:s3cret@127.0.0.1:1/app",
		"app:s3cret@tcp(127.0.0.1:1)/app", "host=127.0.0.1 port=1 password=s3cret dbname=app",
	} {
		for _, verb := range []string{"init", "workers", "quarantine", "retire", "doctor"} {
			args := []string{verb, "--namespace=a", "--timeout=100ms", "--store=" + store}
			if verb == "quarantine" || verb == "retire" {
				args = append(args, "--yes")
			}
			code, out, errs := call(t, "", args...)
			require.NotZero(t, code)
			require.Contains(t, out+errs, "127.0.0.1:1")
			require.NotContains(t, out+errs, "s3cret")
		}
	}
}

// The store comes from the environment, and help does not print it.
func TestStoreFromTheEnvironment(t *testing.T) {
	srv := miniredis.RunT(t)
	srv.RequireAuth("s3cret")
	t.Setenv(envStore, "redis://:s3cret@"+srv.Addr())
	code, _, errs := call(t, "", "init", "--yes", "--namespace=a", "--quarantine=never")
	require.Zero(t, code, errs)
	_, out, _ := call(t, "", "init", "--help")
	require.NotContains(t, out, "s3cret")
}

func TestStateOf(t *testing.T) {
	t.Parallel()
	require.Equal(t, "lent", stateOf(lease.Slot{Now: 5, Expires: 5}))
	require.Equal(t, "ahead", stateOf(lease.Slot{Now: 5, Expires: 4, Mark: 5}))
	require.Equal(t, "free", stateOf(lease.Slot{Now: 5, Expires: 4, Mark: 4}))
}

// JSON does not escape all control characters that a terminal obeys.
func TestPinThatIsNotToBePrinted(t *testing.T) {
	t.Parallel()
	r := miniredis.RunT(t)
	args := []string{"--store=redis://" + r.Addr(), "--namespace=a", "--quarantine=never"}
	code, _, errs := call(t, "", append([]string{"init", "--yes"}, args...)...)
	require.Zero(t, code, errs)
	r.HSet("snowlease:{a}:meta", "pin", "\u202e\u0085"+strings.Repeat("A", 900))
	code, out, errs := call(t, "", append([]string{"workers", "--json"}, args...)...)
	require.Zero(t, code, errs)
	require.Contains(t, out, `"pin":"??AAA`)
	require.Less(t, len(out), 1000)

	r.HSet("snowlease:{a}:meta", "pin", strings.Repeat("A", 64<<10))
	code, _, errs = call(t, "", append([]string{"workers", "--json"}, args...)...)
	require.NotZero(t, code)
	require.Contains(t, errs, "a record is damaged")
	require.Less(t, len(errs), 1000)
}
