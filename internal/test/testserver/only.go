package testserver

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// onlyVariable names the only engines that tests run on, separated by commas: mysql, mariadb,
// galera, postgres or redis, or another word for none of them. Tests that ask for another one
// are skipped. If it is one engine, the others get two attributes, which go test -json prints:
// "server", what the server says that it is, and "program", the file that runs.
const onlyVariable = "SNOWLEASE_TEST_ENGINE"

// only skips the test if it asks for an engine that onlyVariable leaves out.
func only(t testing.TB, e *engine) {
	t.Helper()
	names := os.Getenv(onlyVariable)
	if names != "" && !slices.Contains(strings.Split(strings.ToLower(names), ","), e.key()) {
		t.Skip(onlyVariable + "=" + names + " leaves out " + e.name)
	}
}

func (e *engine) key() string {
	if e.name == postgres.name {
		return "postgres"
	}
	kind, _, _ := strings.Cut(strings.ToLower(e.name), " ") // Redis Sentinel and Redis Cluster are redis
	return kind
}

var described struct {
	sync.Mutex
	server string
}

// describe sets the attributes of a test that runs on s.
func (s *Server) describe(t testing.TB) {
	t.Helper()
	if names := os.Getenv(onlyVariable); names == "" || strings.Contains(names, ",") {
		return
	}
	described.Lock()
	defer described.Unlock()
	if described.server == "" {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		version, err := s.engine.version(ctx, s)
		if err != nil {
			t.Fatalf("testserver: the version of %s: %v", s.engine.name, err)
		}
		described.server = version
	}
	program := mustLookup(s.engine.programs[0])
	if target, err := filepath.EvalSymlinks(program); err == nil {
		program = target
	}
	t.Attr("server", described.server)
	t.Attr("program", program)
}

func mysqlVersion(ctx context.Context, s *Server) (version string, err error) {
	err = s.mysql(ctx, func(db *sql.Conn) error {
		return db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version)
	})
	name := "MySQL"
	if strings.Contains(version, "MariaDB") {
		name = "MariaDB"
	}
	version, _, _ = strings.Cut(version, "-")
	return name + " " + version, err
}

func galeraVersion(ctx context.Context, s *Server) (version string, err error) {
	server, err := mysqlVersion(ctx, s)
	if err != nil {
		return "", err
	}
	err = s.mysql(ctx, func(db *sql.Conn) error {
		return db.QueryRowContext(ctx, "SHOW STATUS LIKE 'wsrep_provider_version'").Scan(new(string), &version)
	})
	version, _, _ = strings.Cut(version, "(")
	return "Galera " + version + " of " + server, err
}

func postgresVersion(ctx context.Context, s *Server) (version string, err error) {
	db, err := sql.Open("pgx", s.DSN())
	if err != nil {
		return "", err
	}
	defer db.Close()
	err = db.QueryRowContext(ctx, "SHOW server_version").Scan(&version)
	version, _, _ = strings.Cut(version, " ")
	return "PostgreSQL " + version, err
}

// redisVersion reads INFO, in which a Valkey gives a version of Redis beside its own.
func redisVersion(ctx context.Context, s *Server) (string, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.Addr())
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(startTimeout))
	if _, err := fmt.Fprint(conn, "INFO server\r\nQUIT\r\n"); err != nil {
		return "", err
	}
	info, err := io.ReadAll(conn)
	if err != nil {
		return "", err
	}
	for _, name := range []string{"Valkey", "Redis"} {
		if _, version, found := strings.Cut(string(info), "\n"+strings.ToLower(name)+"_version:"); found {
			version, _, _ = strings.Cut(version, "\r")
			return name + " " + version, nil
		}
	}
	return "", fmt.Errorf("INFO names none: %q", info)
}
