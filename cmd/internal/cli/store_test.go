package cli

import (
	"crypto/rand"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// A scene is a store without records. Its shell works on namespace orders of it, and its
// numbers on the store.
type scene struct {
	shell
	numbers shell
	store   storeFlags
}

func newScene(t *testing.T, store string, more ...string) scene {
	t.Helper()
	s := scene{numbers: in(t, append(more, "--store="+store)...), store: storeFlags{program: program{sqlredis.Program}, store: store}}
	s.shell = s.numbers.with("--namespace=orders")
	return s
}

// onStores runs f on stores of these kinds, or of all.
func onStores(t *testing.T, f func(scene), kinds ...string) {
	t.Helper()
	for kind, open := range map[string]func(*testing.T) scene{
		"miniredis": func(t *testing.T) scene { // it does not tell its run_id
			s := newScene(t, "redis://"+miniredis.RunT(t).Addr(), "--durable")
			s.store.durable = true
			return s
		},
		"redis": func(t *testing.T) scene { // of all tests
			prefix := rand.Text()
			s := newScene(t, "redis://"+testserver.Redis(t), "--prefix="+prefix)
			s.store.prefix = prefix
			return s
		},
		"sqlite":   onSQLite,
		"mysql":    func(t *testing.T) scene { return newScene(t, mysqlURL(t, testserver.MariaDB(t))) },
		"postgres": func(t *testing.T) scene { return newScene(t, testserver.Postgres(t)) },
	} {
		if len(kinds) == 0 || slices.Contains(kinds, kind) {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				f(open(t))
			})
		}
	}
}

func onSQLite(t *testing.T) scene { return newScene(t, sqliteURL(t)) }

// sql changes the records of a SQLite file.
func (s scene) sql(format string, args ...any) {
	s.Helper()
	sqlDo(s.T, "sqlite", strings.TrimPrefix(s.store.store, "sqlite:"), fmt.Sprintf(format, args...))
}

// center returns an application's center on the store.
func (s scene) center() *target.Opened {
	s.Helper()
	require.NoError(s, s.store.complete(&cobra.Command{}, true))
	o, err := s.store.open(s.Context(), false)
	require.NoError(s, err)
	s.Cleanup(func() { require.NoError(s, o.Close()) })
	return o
}

// request is that of an application with the default configuration.
func (s scene) request() lease.Request {
	s.Helper()
	r, err := idworker.Config{Namespace: "orders", Holder: "orders@host:\x1b[1m7"}.Request()
	require.NoError(s, err)
	return r
}

// lend borrows a worker id.
func (s scene) lend(c lease.Center) lease.Grant {
	s.Helper()
	g, err := c.Acquire(s.Context(), s.request())
	require.NoError(s, err)
	return g
}

// sqliteURL returns the URL of an empty file.
func sqliteURL(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.db")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	return "sqlite:" + path
}

func mysqlURL(t *testing.T, dsn string) string {
	t.Helper()
	c, err := mysql.ParseDSN(dsn)
	require.NoError(t, err)
	return "mysql://" + c.User + ":" + c.Passwd + "@" + c.Addr + "/" + c.DBName
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

// Commands that only read do not create a file.
func TestNoFileIsCreated(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	s := in(t, "--namespace=a", "--store=sqlite:"+path+"\r\n")
	s.exits(exitFailed, "workers", "no such file")
	s.exits(exitNo, "doctor", "no such file")
	s.exits(exitNo, "init", "Store: sqlite "+path+" (from --store)\nNothing is on record")
	in(t, "--namespace=a", "--store=sqlite:"+path+"\n.db").exits(exitUsage, "workers", "--store has the control character U+000A at byte ")
	require.NoFileExists(t, path)
	in(t, "--namespace=a", "--store=redis://127.0.0.1:1").exits(exitFailed, "workers", "check that it runs and is reachable at this address, and username, password, db and tls in --store")
}

// No error about a malformed, misplaced or unreachable store shows its password.
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
			t.Setenv(target.EnvStore, store)
			file := writeFile(t, fmt.Sprintf("idworker:\n  %q: x\n  mode: %[1]q\n  wait: %[1]q\n  preset: %[1]q\n", store))
			for _, args := range [][]string{
				{"init", "--namespace=a", "--timeout=100ms"},
				{"workers", "--namespace=a", "--timeout=100ms"},
				{"quarantine", "--namespace=a", "--timeout=100ms", "--yes"},
				{"retire", "--namespace=a", "--timeout=100ms", "--yes"},
				{"doctor", "--namespace=a", "--timeout=100ms"},
				{"workers", store},
				{"workers", "-store=" + store},
				{"workers", "--stores=" + store},
				{"workers", "---store=" + store},
				{store},
				{"segment", store},
				{"segment", "list", store},
				{"segment", "list", "--series=" + store},
				{"segment", "list", "--timeout=100ms"},
				{"inspect", store},
				{"inspect", store, "--source=" + store},
				{"layout", "--preset=" + store},
				{"layout", "--bits=" + store},
				{"layout", "--epoch=" + store},
				{"check", file},
			} {
				code, out, errs := call(t, "", args...)
				require.NotZero(t, code, args)
				require.NotContains(t, out+errs, secret, args)
				if slices.Contains(args, "--namespace=a") && strings.Contains(store, "@127.0.0.1:1/db") {
					require.Contains(t, out+errs, "127.0.0.1:1", args)
				}
			}
		})
	}
	files, err := filepath.Glob("*" + secret + "*")
	require.NoError(t, err)
	require.Empty(t, files)
}
