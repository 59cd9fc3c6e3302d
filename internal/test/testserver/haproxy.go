package testserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"
)

// NewHAProxy starts an HAProxy for this test before servers of one kind. It leads to the
// first one that passes a check: that it answers or, for Redis, that it is a master. Each
// setting is a line of its configuration. With "option allbackups" it leads to all servers
// in turn.
func NewHAProxy(t testing.TB, behind []*Server, settings ...string) *Server {
	t.Helper()
	kind := behind[0].engine
	check := map[string][]string{
		postgres.name: {"option pgsql-check user snowlease"},
		mariadb.name:  {"option mysql-check user haproxy"}, // an account without a password
		redis.name: {
			"option tcp-check",
			`tcp-check send info\ replication\r\nquit\r\n`, "tcp-check expect string role:master",
		},
	}[kind.name]
	if kind.name == mariadb.name {
		for _, s := range behind {
			within(t, s.createChecker)
		}
	}
	return newServer(t, &engine{
		name: "HAProxy", pkg: "haproxy",
		programs: []string{"haproxy"},
		create:   func(*Server) error { return nil },
		command: func(s *Server) []string {
			lines := append([]string{
				"global", "stats socket " + s.file("admin") + " level admin",
				"listen store",
				"mode tcp", fmt.Sprintf("bind 127.0.0.1:%d", s.port),
				"timeout connect 1m", "timeout client 1h", "timeout server 1h", "timeout check 1m", // busy is not down
				"default-server inter 100ms fall 1 rise 1",
			}, check...)
			lines = append(lines, settings...)
			for i, b := range behind {
				lines = append(lines, fmt.Sprintf("server s%d %s check backup", i, b.Addr()))
			}
			return []string{mustLookup("haproxy"), "-db", "-f", s.configure(lines)}
		},
		dsn:     kind.dsn,
		ping:    kind.ping,
		stop:    syscall.SIGTERM,
		discard: syscall.SIGKILL,
	}, nil)
}

// CutConnections ends the connections through an HAProxy to the first of its servers, as its
// timeouts would.
func (s *Server) CutConnections() {
	s.t.Helper()
	s.do(func(s *Server) error {
		conn, err := net.DialTimeout("unix", s.file("admin"), startTimeout)
		if err != nil {
			return err
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(startTimeout))
		if _, err := io.WriteString(conn, "shutdown sessions server store/s0\n"); err != nil {
			return err
		}
		answer, err := io.ReadAll(conn)
		if text := strings.TrimSpace(string(answer)); err == nil && text != "" {
			err = errors.New(text)
		}
		return err
	})
}

// createChecker creates the account of HAProxy's checks of a MariaDB.
func (s *Server) createChecker(ctx context.Context) error {
	return s.mysql(ctx, func(db *sql.Conn) error {
		if _, err := db.ExecContext(ctx, "SET SESSION sql_log_bin = 0"); err != nil {
			return err
		}
		_, err := db.ExecContext(ctx, "CREATE USER IF NOT EXISTS 'haproxy'@'127.0.0.1'")
		return err
	})
}
