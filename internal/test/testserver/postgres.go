package testserver

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // driver "pgx"
)

const postgresVariable = "SNOWLEASE_TEST_POSTGRES_DSN"

var postgres = engine{
	name: "PostgreSQL", pkg: "postgresql",
	programs: []string{"initdb"},
	runAs:    "postgres",
	create: func(s *Server) error {
		password := filepath.Join(s.dir, "password")
		if err := os.WriteFile(password, []byte("snowlease\n"), 0o644); err != nil {
			return err
		}
		return s.initialize("postgres", mustLookup("initdb"), "--pgdata="+s.data(), "--username=snowlease",
			"--pwfile="+password, "--auth=password", "--encoding=UTF8", "--locale=C",
			"--no-sync", "--no-instructions")
	},
	command: func(s *Server) []string {
		return []string{
			postgresProgram(), "-D", s.data(),
			"-c", "listen_addresses=127.0.0.1", "-c", "port=" + strconv.Itoa(s.port),
			"-c", "unix_socket_directories=",
			"-c", "max_connections=500", "-c", "shared_buffers=32MB",
			"-c", "fsync=off", "-c", "full_page_writes=off", "-c", "autovacuum=off", // which forks for each database
			// Otherwise killed servers leave segments behind in /dev/shm.
			"-c", "dynamic_shared_memory_type=mmap",
		}
	},
	dsn: func(port int) string {
		return fmt.Sprintf("host=127.0.0.1 port=%d user=snowlease password=snowlease dbname=postgres sslmode=disable", port)
	},
	ping: func(ctx context.Context, s *Server) error {
		db, err := sql.Open("pgx", s.DSN())
		if err != nil {
			return err
		}
		defer db.Close()
		return db.PingContext(ctx)
	},
	version: postgresVersion,
	stop:    syscall.SIGINT,
	discard: syscall.SIGQUIT,
}

// postgresProgram returns the postgres beside initdb. The one in PATH may have another
// version.
func postgresProgram() string {
	initdb := mustLookup("initdb")
	if target, err := filepath.EvalSymlinks(initdb); err == nil {
		initdb = target
	}
	return filepath.Join(filepath.Dir(initdb), "postgres")
}

var sharedPostgres = sync.OnceValues(func() (*Server, error) { return start(&postgres, nil, "") })

// Postgres returns the DSN of a fresh empty database in key=value form, so tests can
// add settings. The server is the shared PostgreSQL, or the one that
// SNOWLEASE_TEST_POSTGRES_DSN names. The database is dropped when the test ends.
func Postgres(t testing.TB) string {
	t.Helper()
	admin, err := keyValue(sharedDSN(t, &postgres, postgresVariable, sharedPostgres))
	if err != nil {
		t.Fatalf("testserver: %s: %v", postgresVariable, err)
	}
	name := freshName()
	// Nobody ever connects to template0, so tests can copy it at any time.
	fresh(t, func() (*sql.DB, error) { return sql.Open("pgx", admin) },
		"CREATE DATABASE "+name+" TEMPLATE template0", "DROP DATABASE "+name+" WITH (FORCE)")
	return admin + " dbname=" + name // the last dbname counts
}

// keyValue converts a DSN of PostgreSQL, which may be a URL, to key=value form.
func keyValue(dsn string) (string, error) {
	if !strings.Contains(dsn, "://") {
		return dsn, nil
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", err
	}
	settings := u.Query() // the parts of the URL override these
	password, _ := u.User.Password()
	for key, value := range map[string]string{
		"host": u.Hostname(), "port": u.Port(), "user": u.User.Username(), "password": password, "dbname": strings.TrimPrefix(u.Path, "/"),
	} {
		if value != "" && !settings.Has(key) {
			settings.Set(key, value)
		}
	}
	var pairs []string
	for key, values := range settings {
		for _, v := range values {
			pairs = append(pairs, key+"='"+strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(v)+"'")
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, " "), nil
}

// NewPostgres starts a PostgreSQL for this test. Its DSN names the empty database "postgres";
// the account is a superuser. Arguments go to the postgres program: "-c", "name=value".
func NewPostgres(t testing.TB, args ...string) *Server {
	t.Helper()
	return newServer(t, &postgres, args)
}
