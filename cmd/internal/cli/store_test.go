package cli

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/go-sql-driver/mysql"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/cmd/internal/cli/sqlredis"
	"github.com/snowlease/snowlease/cmd/internal/cli/target"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
)

// onEachStore runs f with the URL of each kind of store.
func onEachStore(t *testing.T, f func(t *testing.T, store, namespace string, more ...string)) {
	t.Helper()
	for name, store := range map[string]func(*testing.T) string{
		"miniredis": func(t *testing.T) string { return "redis://" + miniredis.RunT(t).Addr() },
		"redis":     func(t *testing.T) string { return "redis://" + testserver.Redis(t) },
		"sqlite":    sqliteURL,
		"mysql":     func(t *testing.T) string { return mysqlURL(t, testserver.MariaDB(t)) },
		"postgres":  func(t *testing.T) string { return testserver.Postgres(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var more []string
			if name == "miniredis" { // it does not tell its run_id
				more = []string{"--quarantine=never"}
			}
			f(t, store(t), "cmd-"+name+"-"+strings.ToLower(rand.Text()[:12]), more...)
		})
	}
}

// sqliteURL returns the URL of an empty file.
func sqliteURL(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.db")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	return "sqlite:" + path
}

// Commands that only read do not create a file.
func TestNoFileIsCreated(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	for _, verb := range []string{"workers", "doctor"} {
		code, out, errs := call(t, "", verb, "--namespace=a", "--store=sqlite:"+path)
		require.NotZero(t, code)
		require.Contains(t, out+errs, "no such file")
	}
	require.NoFileExists(t, path)
}

// No error about a malformed or misplaced store shows its password.
func TestNoPasswordIsPrinted(t *testing.T) {
	const secret = "s3cretWord"
	for _, store := range []string{
		"redis://user:" + secret, "redis://user:a:" + secret, "redis://user:" + secret + "/0", "redis://user:" + secret + "@127.0.0.1:1",
		"mysql://root:" + secret + "/db", "mysql://root:" + secret + "@127.0.0.1:1/db", "root:" + secret + "@tcp(127.0.0.1:1/db", "root:" + secret + "@tcp(127.0.0.1:1)/db",
		"postgres://root:" + secret + "/db", "postgres://root:" + secret + "@127.0.0.1:1/db", "host=127.0.0.1 port=1 password=" + secret, "host=127.0.0.1 port=x password=" + secret,
		"sqlite:root:" + secret + "@127.0.0.1/db", "sqlite://root:" + secret + "@h/db", "oracle://root:" + secret + "@h/db", "redis://[root:" + secret + "]", "redis://[root:" + secret + "]:1", "file:root:" + secret + "@h/db", "sqlite:user=u password=" + secret, "user=u password=" + secret,
		"root:" + secret + "@h/db",
		"root@tcp(127.0.0.1:1)/db&password=" + secret, "mysql://root@127.0.0.1:1/db;password=" + secret,
		"postgres://root@127.0.0.1:1/db&password=" + secret, "postgres://root@127.0.0.1:1/db;password=" + secret,
		"postgres://127.0.0.1:1/db user=root password=" + secret, "host=127.0.0.1 port=1 dbname=db;password=" + secret,
		"sqlite:db&_auth_pass=" + secret, "file:db;key=" + secret,
	} {
		t.Run(strings.ReplaceAll(store, secret, "PW"), func(t *testing.T) {
			t.Setenv(envStore, store)
			file := writeFile(t, fmt.Sprintf("idworker:\n  %q: x\n  mode: %[1]q\n  wait: %[1]q\n  preset: %[1]q\n", store))
			for _, args := range [][]string{
				{"workers", "--namespace=a", "--timeout=100ms"},
				{"doctor", "--namespace=a", "--timeout=100ms"},
				{"workers", store},
				{"workers", "-store=" + store},
				{"workers", "--stores=" + store},
				{"workers", "---store=" + store},
				{store},
				{"config", store},
				{"segment", store},
				{"segment", "list", store},
				{"segment", "list", "--series=" + store},
				{"segment", "list", "--timeout=100ms"},
				{"inspect", store},
				{"inspect", store, "--source=" + store},
				{"layout", "--preset=" + store},
				{"layout", "--bits=" + store},
				{"layout", "--epoch=" + store},
				{"config", "check", file},
			} {
				code, out, errs := call(t, "", args...)
				require.NotZero(t, code, args)
				require.NotContains(t, out+errs, secret, args)
			}
		})
	}
	files, err := filepath.Glob("*" + secret + "*")
	require.NoError(t, err)
	require.Empty(t, files)
}

func mysqlURL(t *testing.T, dsn string) string {
	t.Helper()
	c, err := mysql.ParseDSN(dsn)
	require.NoError(t, err)
	return "mysql://" + c.User + ":" + c.Passwd + "@" + c.Addr + "/" + c.DBName
}

// openCenter returns an application's center on the store.
func openCenter(t *testing.T, store string, more ...string) *target.Opened {
	t.Helper()
	f := storeFlags{program: program{sqlredis.Program}, store: store, quarantine: lease.QuarantineOnChange}
	if len(more) > 0 {
		f.quarantine = lease.QuarantineNever
	}
	require.NoError(t, f.complete(&cobra.Command{}, true))
	o, err := f.open(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, o.Close()) })
	return o
}

// lend borrows a worker id with the default configuration.
func lend(t *testing.T, c lease.Center, namespace string) lease.Grant {
	t.Helper()
	r, err := idworker.Config{Namespace: namespace, Holder: "orders@host:\x1b[1m7"}.Request()
	require.NoError(t, err)
	g, err := c.Acquire(t.Context(), r)
	require.NoError(t, err)
	return g
}
