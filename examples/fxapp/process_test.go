package main

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/internal/test/limit"
	"github.com/snowlease/snowlease/internal/test/testserver"
)

// TestProcess runs the program as users do.
func TestProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	command := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(limit.Context(t), os.Args[0], args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), asProgram+"=1")
		return cmd
	}
	out, err := command("-once").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Len(t, tableRow.FindAll(out, -1), 7, "%s", out)
	require.FileExists(t, dir+"/fxapp.db")
	require.Contains(t, string(out), "address=fxapp.db", "it says where")

	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	out, err = command("-listen", l.Addr().String()).CombinedOutput()
	require.EqualError(t, err, "exit status 1")
	require.Contains(t, string(out), "fxapp: cannot start: listen tcp "+l.Addr().String()+": bind: address already in use: choose another address with -listen")
	require.NotContains(t, string(out), "worker id borrowed", "nothing is borrowed or written where the port is in use")

	cfg, err := load([]string{"-dsn", emptyFile(t), "-listen", l.Addr().String()}, nil, io.Discard)
	require.NoError(t, err)
	var db *gorm.DB
	app := fx.New(fx.NopLogger, wiring(cfg, io.Discard, slog.New(slog.DiscardHandler)), fx.Populate(&db))
	require.ErrorContains(t, app.Start(t.Context()), "address already in use")
	pool, err := db.DB()
	require.NoError(t, err)
	require.EqualError(t, pool.PingContext(t.Context()), "sql: database is closed")

	serving, stderr, ended := command("-listen", "127.0.0.1:0"), newOutput(), make(chan struct{})
	serving.Stderr = stderr
	require.NoError(t, serving.Start())
	go func() {
		defer close(ended)
		err = serving.Wait()
	}()
	t.Cleanup(func() { _ = serving.Process.Kill(); <-ended })
	get(t, "http://"+stderr.await(t, `serving" url=http://([^/]+)/`, ended)+"/readyz", http.StatusOK)
	require.NoError(t, serving.Process.Signal(syscall.SIGINT))
	<-ended
	require.NoError(t, err, stderr)
	require.Contains(t, stderr.String(), "worker id released")
}

// Copies on one store have worker ids of their own. Many first orders of one customer at both
// make one customer.
func TestCopies(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]func(*testing.T) []string{
		"sqlite":   func(t *testing.T) []string { return []string{"-dsn", newFile(t)} },
		"mariadb":  func(t *testing.T) []string { return []string{"-dsn", testserver.MariaDB(t)} },
		"mysql":    func(t *testing.T) []string { return []string{"-dsn", testserver.MySQL(t)} },
		"postgres": func(t *testing.T) []string { return []string{"-dsn", testserver.Postgres(t)} },
		"redis":    func(t *testing.T) []string { return append(newNamespace(t), "-dsn", newFile(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := args(t)
			var urls []string
			workers := map[any]bool{}
			for range 2 {
				p, url := serving(t, args...)
				defer p.stops(t)
				urls = append(urls, url)
				workers[get(t, url+"/readyz", http.StatusOK)["status"].(map[string]any)["worker"]] = true
				tour(t, url)
			}
			require.Len(t, workers, 2)

			var wg sync.WaitGroup
			customers := make([]string, 8)
			for i := range customers { // in turn, within the 5 s that a request has
				wg.Go(func() {
					resp, err := http.Post(urls[i%2]+"/orders", "application/json", strings.NewReader(strings.Replace(aTea, "Zoe@", "new@", 1)))
					if err != nil {
						t.Error(err)
						return
					}
					defer resp.Body.Close()
					body, _ := io.ReadAll(resp.Body)
					_, customer, _ := strings.Cut(string(body), `"customer":{"id":`)
					customer, _, _ = strings.Cut(customer, ",")
					customers[i] = fmt.Sprint(resp.StatusCode, " ", customer)
				})
			}
			wg.Wait()
			http.DefaultClient.CloseIdleConnections()
			for _, customer := range customers {
				require.Regexp(t, `^201 "?[1-9]\d+"?$`, customer)
				require.Equal(t, customers[0], customer)
			}
		})
	}
}
