package main

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/snowlease/snowlease/internal/test/limit"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/testserver"
)

// A process is the program as users run it.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr *output
	ended          chan struct{}
}

func spawn(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	p := &process{cmd: exec.CommandContext(limit.Context(t), exe, args...), stdout: newOutput(), stderr: newOutput(), ended: make(chan struct{})}
	p.cmd.Dir = dir
	p.cmd.Env = append(os.Environ(), asProgram+"=1")
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	require.NoError(t, p.cmd.Start())
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // the test looks at the exit code
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
	})
	return p
}

func (p *process) exitCode() int {
	<-p.ended
	return p.cmd.ProcessState.ExitCode()
}

// serve starts a process and returns the URL it serves at.
func serving(t *testing.T, dir string, args ...string) (*process, string) {
	t.Helper()
	p := spawn(t, dir, append(args, "-listen", "127.0.0.1:0")...)
	return p, "http://" + p.stderr.await(t, `serving" url=http://([^/]+)/`, p.ended)
}

func (p *process) interrupt(t *testing.T) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGINT))
	require.Zero(t, p.exitCode(), p.stderr)
	require.Contains(t, p.stderr.String(), "worker id given back")
}

func TestProcessOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := spawn(t, dir, "-once")
	require.Zero(t, p.exitCode(), p.stderr)
	require.Len(t, tableRow.FindAllString(p.stdout.String(), -1), 7, p.stdout)
	require.FileExists(t, dir+"/fxapp.db")
	require.Contains(t, p.stderr.String(), "address=fxapp.db", "it says where")
}

func TestProcess(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]func(*testing.T) []string{
		"sqlite":         func(*testing.T) []string { return nil },
		"embedded redis": func(*testing.T) []string { return []string{"-mode", "redis"} },
		"redis":          newNamespace,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, url := serving(t, t.TempDir(), args(t)...)
			tour(t, url)
			p.interrupt(t)
		})
	}
}

// Copies on one database have worker ids of their own.
func TestCopies(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]func(*testing.T) []string{
		"sqlite":   func(*testing.T) []string { return nil },
		"mariadb":  func(t *testing.T) []string { return []string{"-dsn", testserver.MariaDB(t)} },
		"postgres": func(t *testing.T) []string { return []string{"-dsn", testserver.Postgres(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, args := t.TempDir(), args(t)
			workers := map[any]bool{}
			var copies []*process
			for range 3 {
				p, url := serving(t, dir, args...)
				workers[get(t, url+"/readyz", http.StatusOK)["status"].(map[string]any)["worker"]] = true
				tour(t, url)
				copies = append(copies, p)
			}
			require.Len(t, workers, 3)
			for _, p := range copies {
				p.interrupt(t)
			}
		})
	}
}

// Nothing is borrowed or written where the port is in use.
func TestPortInUse(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	p := spawn(t, t.TempDir(), "-listen", l.Addr().String())
	require.Equal(t, 1, p.exitCode())
	require.Regexp(t, `(?m)^fxapp: cannot start: listen tcp `+l.Addr().String()+`: bind: address already in use: choose another address with -listen`, p.stderr.String())
	require.NotContains(t, p.stderr.String(), "worker id borrowed")
	require.Empty(t, p.stdout.String())
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-dsn", "app:s3cr3t@tcp(127.0.0.1:1)/shop"}, "mysql at 127.0.0.1:1/shop: cannot connect: "},
		{[]string{"-dsn", "postgres://app:s3cr3t@127.0.0.1:1/shop"}, "postgres at 127.0.0.1:1/shop: cannot connect: "},
		{[]string{"-dsn", "none/shop.db"}, "sqlite at none/shop.db: cannot connect: "},
		{[]string{"-mode", "redis", "-redis", "127.0.0.1:1"}, "redis at 127.0.0.1:1: cannot connect: "},
	} {
		p := spawn(t, t.TempDir(), append(c.args, "-listen", "127.0.0.1:0")...)
		require.Equal(t, 1, p.exitCode())
		require.Contains(t, p.stderr.String(), "fxapp: cannot start: providers: "+c.want)
		require.NotContains(t, p.stderr.String(), "s3cr3t")
		require.NotContains(t, p.stderr.String(), "worker id borrowed")
	}
}
