package testserver

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

const redisVariable = "SNOWLEASE_TEST_REDIS_ADDR"

var redis = engine{
	name: "Redis", pkg: "redis-server",
	programs: []string{"redis-server"},
	create:   func(s *Server) error { return os.Mkdir(s.data(), 0o700) },
	command: func(s *Server) []string {
		return []string{
			mustLookup("redis-server"), "--bind", "127.0.0.1", "--port", strconv.Itoa(s.port),
			// A connection that finds the queue full waits for TCP, up to 7 s. A paused
			// server gets a new one from each call whose deadline ends.
			"--tcp-backlog", "4096",
			"--dir", s.data(), "--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1",
		}
	},
	dsn:     func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) },
	ping:    pingRedis,
	version: redisVersion,
	stop:    syscall.SIGTERM,
	discard: syscall.SIGKILL,

	replication: &redisReplication,
}

// pingRedis succeeds once a Redis has loaded its data, or asks for a password.
func pingRedis(ctx context.Context, s *Server) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.Addr())
	if err != nil {
		return err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	if _, err := fmt.Fprint(conn, "PING\r\n"); err != nil {
		return err
	}
	reply, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	if reply != "+PONG\r\n" && !strings.HasPrefix(reply, "-NOAUTH") {
		return fmt.Errorf("PING: %q", reply)
	}
	return nil
}

var sharedRedis = sync.OnceValues(func() (*Server, error) { return start(&redis, nil, "") })

// Redis returns the address of the shared Redis, or of the one that
// SNOWLEASE_TEST_REDIS_ADDR names. The caller must use its own keys and flush nothing.
func Redis(t testing.TB) string {
	t.Helper()
	return sharedDSN(t, &redis, redisVariable, sharedRedis)
}

// NewRedis starts a Redis for this test. It keeps no data across Stop and Kill unless the
// arguments say so: "--appendonly", "yes", "--appendfsync", "always". Its DSN is its address.
func NewRedis(t testing.TB, args ...string) *Server {
	t.Helper()
	return newServer(t, &redis, args)
}
