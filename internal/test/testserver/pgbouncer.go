package testserver

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// NewPgBouncer starts a PgBouncer before a PostgreSQL for this test. Its DSN leads to the
// same database through it. Each setting is a line of its configuration file, such as
// "pool_mode = transaction".
func NewPgBouncer(t testing.TB, behind *Server, settings ...string) *Server {
	t.Helper()
	return newServer(t, &engine{
		name: "PgBouncer", pkg: "pgbouncer",
		programs: []string{"pgbouncer"},
		runAs:    postgres.runAs, // it refuses to run as root
		create: func(s *Server) error {
			return os.WriteFile(s.file("users"), []byte(`"snowlease" "snowlease"`), 0o644)
		},
		command: func(s *Server) []string {
			lines := append([]string{
				"[databases]",
				fmt.Sprintf("* = host=127.0.0.1 port=%d", behind.port),
				"[pgbouncer]",
				"listen_addr = 127.0.0.1", fmt.Sprintf("listen_port = %d", s.port), "unix_socket_dir =",
				"auth_type = md5", "auth_file = " + s.file("users"),
				"server_login_retry = 1", // after the server was away
			}, settings...)
			return []string{mustLookup("pgbouncer"), "--quiet", s.configure(lines)}
		},
		dsn:     postgres.dsn,
		ping:    func(ctx context.Context, s *Server) error { return postgres.ping(ctx, s) },
		stop:    syscall.SIGINT,
		discard: syscall.SIGKILL,
	}, nil)
}

func (s *Server) file(name string) string { return filepath.Join(s.dir, name) }

// configure writes the configuration file of a proxy before each start, since its port may
// be another one. If that fails, the proxy reports it.
func (s *Server) configure(lines []string) string {
	_ = os.WriteFile(s.file("config"), []byte(strings.Join(lines, "\n")+"\n"), 0o644)
	return s.file("config")
}
