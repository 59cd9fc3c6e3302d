//go:build prove

package testserver

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/limit"
)

// childVariable makes this binary the child process of a test. One child starts servers,
// prints where they are and hangs. Another has a single test that leaves things behind.
const childVariable = "SNOWLEASE_TESTSERVER_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "hang" {
		hang()
	}
	Main(m)
}

// openSQL returns a pool that is closed before its database is dropped.
func openSQL(t *testing.T, name, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(name, dsn)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := db.Close(); !errors.Is(err, driver.ErrBadConn) { // which the server has closed
			require.NoError(t, err)
		}
	})
	return db
}

func openRedis(t *testing.T, addr string) *goredis.Client {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1})
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

var sqlEngines = []struct {
	name, driver string
	shared       func(testing.TB) string
	server       func(testing.TB, ...string) *Server
}{
	{"MariaDB", "mysql", MariaDB, NewMariaDB},
	{"MySQL", "mysql", MySQL, NewMySQL},
	{"PostgreSQL", "pgx", Postgres, NewPostgres},
}

func TestDatabaseIsDroppedAtTheEnd(t *testing.T) {
	for _, e := range sqlEngines {
		t.Run(e.name, func(t *testing.T) {
			var dsn string
			t.Run("user", func(t *testing.T) {
				dsn = e.shared(t)
				require.NoError(t, openSQL(t, e.driver, dsn).Ping())
			})
			require.Error(t, openSQL(t, e.driver, dsn).Ping())
		})
	}
}

func TestGivenServers(t *testing.T) {
	t.Run("mysql", func(t *testing.T) {
		srv := NewMariaDB(t)
		t.Setenv(mariadbVariable, strings.TrimSuffix(srv.DSN(), "test?parseTime=true"))
		dsn := MariaDB(t)
		require.Contains(t, dsn, srv.Addr())
		require.Contains(t, dsn, "parseTime=true")
		require.NoError(t, openSQL(t, "mysql", dsn).Ping())
	})
	t.Run("postgres", func(t *testing.T) {
		srv := NewPostgres(t)
		_, err := openSQL(t, "pgx", srv.DSN()).Exec(`CREATE ROLE other LOGIN SUPERUSER PASSWORD 'it''s \odd'`)
		require.NoError(t, err)
		for _, given := range []string{
			srv.DSN(),
			"postgres://snowlease:snowlease@" + srv.Addr() + "/postgres?sslmode=disable",
			"postgresql://" + url.UserPassword("other", `it's \odd`).String() + "@" + srv.Addr() + "/postgres?sslmode=disable&connect_timeout=20",
		} {
			t.Setenv(postgresVariable, given)
			var port, name, zone string
			require.NoError(t, openSQL(t, "pgx", Postgres(t)+" TimeZone=Asia/Tokyo").
				QueryRow("SELECT inet_server_port(), current_database(), current_setting('TimeZone')").Scan(&port, &name, &zone))
			require.Equal(t, "Asia/Tokyo", zone, "tests add settings")
			require.True(t, strings.HasSuffix(srv.Addr(), ":"+port))
			require.Contains(t, name, "snowlease_test_")
		}
	})
	t.Run("redis", func(t *testing.T) {
		t.Setenv(redisVariable, "127.0.0.1:1")
		require.Equal(t, "127.0.0.1:1", Redis(t))
	})
}

func TestFailedStartSaysWhy(t *testing.T) {
	need(t, &redis, "")
	_, err := start(&redis, []string{"--no-such-setting", "1"}, "")
	require.ErrorIs(t, err, errEnded)
	require.ErrorContains(t, err, "no-such-setting")
}

// TestPortsAreReserved checks that a port stays reserved though nobody listens on it.
func TestPortsAreReserved(t *testing.T) {
	t.Parallel()
	port, held, err := freePort(1)
	require.NoError(t, err)
	for above := range 2 {
		require.Error(t, new(reservation).add(port+above))
	}
	held.release()
}

func TestMissingEngine(t *testing.T) {
	absent := engine{name: "Absent", pkg: "absent-server", programs: []string{"no-such-program"}}
	for _, ci := range []string{"", "true"} {
		t.Setenv("CI", ci)
		rec := &recorder{TB: t}
		done := make(chan struct{})
		go func() { // Fatal and Skip end the goroutine
			defer close(done)
			need(rec, &absent, "SOME_VARIABLE")
		}()
		<-done
		require.Equal(t, ci == "true", rec.failed)
		require.Equal(t, ci != "true", rec.skipped)
		for _, part := range []string{"no-such-program", "make prove", "absent-server", "SOME_VARIABLE"} {
			require.Contains(t, rec.line, part)
		}
	}
	state.Lock()
	defer state.Unlock()
	require.Contains(t, state.leftOut, "Absent")
	delete(state.leftOut, "Absent")
}

// recorder notes how a test would have ended.
type recorder struct {
	testing.TB
	failed, skipped bool
	line            string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatal(args ...any) {
	r.failed, r.line = true, fmt.Sprint(args...)
	runtime.Goexit()
}

func (r *recorder) Skip(args ...any) {
	r.skipped, r.line = true, fmt.Sprint(args...)
	runtime.Goexit()
}

// TestLeavings is the child process of TestMainClearsAway. Otherwise it does nothing.
func TestLeavings(t *testing.T) {
	if os.Getenv(childVariable) != "leave" {
		return
	}
	s, err := start(&redis, nil, "")
	require.NoError(t, err)
	fmt.Println("left:", s.dir)
	state.leftOut = map[string]string{"Absent": "the absent engine"}
	go func() { select {} }()
}

func TestMainClearsAway(t *testing.T) {
	t.Parallel()
	need(t, &redis, "")
	cmd := exec.CommandContext(limit.Context(t), os.Args[0], "-test.run=^TestLeavings$")
	cmd.Env = append(os.Environ(), childVariable+"=leave")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", out)
	require.Equal(t, 1, exit.ExitCode())
	require.Contains(t, string(out), "TestLeavings.func", "the goroutine that leaked")
	require.Contains(t, string(out), "left out: the absent engine\n")
	_, dir, found := strings.Cut(string(out), "left: ")
	require.True(t, found)
	dir, _, _ = strings.Cut(dir, "\n")
	require.NoDirExists(t, dir)
	require.Empty(t, processesIn(t, dir))
}

// hang is the child process of TestServersDieWithTheTests.
func hang() {
	for _, e := range []*engine{&mariadb, &mysqlEngine, &postgres, &redis} {
		s, err := start(e, nil, "")
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(s.Addr(), s.dir)
	}
	fmt.Println("ready")
	select {}
}

func TestServersDieWithTheTests(t *testing.T) {
	t.Parallel()
	for _, e := range []*engine{&mariadb, &mysqlEngine, &postgres, &redis} {
		need(t, e, "")
	}
	cmd := exec.CommandContext(limit.Context(t), os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"=hang")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()

	var addrs []string
	for {
		var addr, dir string
		_, err := fmt.Fscan(out, &addr)
		require.NoError(t, err)
		if addr == "ready" {
			break
		}
		_, err = fmt.Fscan(out, &dir)
		require.NoError(t, err)
		addrs = append(addrs, addr)
		t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
		require.NotEmpty(t, processesIn(t, dir))
		defer func() {
			require.Eventually(t, func() bool { return len(processesIn(t, dir)) == 0 }, time.Minute, 10*time.Millisecond)
		}()
	}
	require.Len(t, addrs, 4)
	for _, addr := range addrs {
		conn, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		require.NoError(t, conn.Close())
	}
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
}

// processesIn returns the processes whose working directory is a folder or below it.
func processesIn(t *testing.T, dir string) (pids []int) {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	require.NoError(t, err)
	for _, link := range links {
		cwd, err := os.Readlink(link)
		if err == nil && strings.HasPrefix(cwd, dir) {
			pid, err := strconv.Atoi(strings.Split(link, "/")[2])
			require.NoError(t, err)
			pids = append(pids, pid)
		}
	}
	return pids
}
