package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/redisseq"
)

// asProgram makes this test binary the program, as a process of its own.
const asProgram = "SNOWLEASE_TEST_AS_FXAPP"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	_ = flag.Set("test.parallel", "8") // tests mostly wait; -parallel overrides this
	testserver.Main(m)
}

// An output is written by the program and read by the test.
type output struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	more chan struct{} // closed at the next write
}

func newOutput() *output { return &output{more: make(chan struct{})} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.more)
	o.more = make(chan struct{})
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// await returns what matches the pattern's group, when it is there.
func (o *output) await(t *testing.T, pattern string, ended <-chan struct{}) string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	for last := false; ; {
		o.mu.Lock()
		m, more := re.FindStringSubmatch(o.buf.String()), o.more
		o.mu.Unlock()
		if m != nil {
			return m[len(m)-1]
		}
		require.False(t, last, "the program has ended without %s:\n%s", pattern, o)
		select {
		case <-more:
		case <-ended:
			last = true
		case <-time.After(time.Minute):
			require.Fail(t, "nothing more is said", "no %s in:\n%s", pattern, o)
		}
	}
}

// A program runs in this process.
type program struct {
	stdout, stderr *output
	interrupt      context.CancelFunc
	ended          chan struct{}
	err            error // after ended
}

func start(t *testing.T, args ...string) *program {
	ctx, interrupt := context.WithCancel(t.Context())
	p := &program{stdout: newOutput(), stderr: newOutput(), interrupt: interrupt, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		p.err = run(ctx, args, nil, p.stdout, p.stderr)
	}()
	t.Cleanup(func() { interrupt(); <-p.ended })
	return p
}

// serving starts the program, and returns the URL that it serves at.
func serving(t *testing.T, args ...string) (*program, string) {
	t.Helper()
	p := start(t, append(args, "-listen", "127.0.0.1:0")...)
	return p, "http://" + p.stderr.await(t, `serving" url=http://([^/]+)/`, p.ended)
}

func (p *program) wait() error {
	<-p.ended
	return p.err
}

// stops interrupts the program, which gives its worker id back.
func (p *program) stops(t *testing.T) {
	t.Helper()
	p.interrupt()
	require.NoError(t, p.wait(), p.stderr)
	require.Contains(t, p.stderr.String(), "worker id released")
}

func emptyFile(t *testing.T) string { return filepath.Join(t.TempDir(), "shop.db") }

// newFile has a namespace that is known to be new.
func newFile(t *testing.T) string {
	t.Helper()
	file := emptyFile(t)
	center, err := dbseq.Open("sqlite", file)
	require.NoError(t, err)
	defer center.Close()
	require.NoError(t, snowlease.Init(t.Context(), center, snowlease.Config{Namespace: "fxapp"}))
	return file
}

var tableRow = regexp.MustCompile(`(?m)^(\d+)  (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)  (\d+)  +(\d+)  +(.+)$`)

// newNamespace opens a namespace on a Redis that others may use, and returns the
// arguments for it.
func newNamespace(t *testing.T) []string {
	t.Helper()
	addr, namespace := testserver.Redis(t), "fxapp."+rand.Text()
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	center, err := redisseq.New(client)
	require.NoError(t, err)
	require.NoError(t, snowlease.Init(t.Context(), center, snowlease.Config{Namespace: namespace}))
	return []string{"-mode", "redis", "-redis", addr, "-namespace", namespace}
}

func TestOnce(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"sqlite":                       {"-dsn", emptyFile(t)},
		"embedded redis":               {"-dsn", newFile(t), "-mode", "redis"},
		"by hand":                      {"-dsn", newFile(t), "-mode", "local", "-config", file(t, "idworker: {local: {worker: 3, dir: "+t.TempDir()+"}}")},
		"auto":                         {"-dsn", newFile(t), "-mode", "auto"},
		"counted in an embedded redis": {"-dsn", newFile(t), "-mode", "redis-sequence"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen, numbers := map[string]bool{}, map[string]bool{}
			for range 2 {
				p := start(t, append(args, "-once")...)
				require.NoError(t, p.wait(), p.stderr)
				rows := tableRow.FindAllStringSubmatch(p.stdout.String(), -1)
				require.Len(t, rows, 7, p.stdout)
				for _, row := range rows {
					require.False(t, seen[row[1]], "%s twice", row[1])
					seen[row[1]] = true
				}
				require.Contains(t, p.stdout.String(), "order of Ada Lovelace, 12.20")
				if ahead := "ahead of the clock, so that they lie above"; name == "sqlite" {
					require.Contains(t, p.stdout.String(), ahead)
				} else if name == "auto" {
					require.NotContains(t, p.stdout.String(), ahead)
				}
				for _, number := range regexp.MustCompile(`invoice INV-\d{4}-\d\d-(\d{6})\n`).FindAllStringSubmatch(p.stdout.String(), -1) {
					numbers[number[1]] = true
				}
				if name != "by hand" && !strings.HasPrefix(name, "counted") {
					require.Contains(t, p.stderr.String(), "worker id released")
				}
				require.Equal(t, strings.HasSuffix(name, "embedded redis"), strings.Contains(p.stderr.String(), "using an embedded Redis"))
			}
			require.Len(t, numbers, 6)
			require.True(t, numbers["000001"] && numbers["000006"], "%v", numbers)
		})
	}
}

// What fails after the borrow gives the worker id back.
func TestFailedStartGivesBack(t *testing.T) {
	t.Parallel()
	file := newFile(t)
	db, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "CREATE VIEW fxapp_items AS SELECT 1")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	p := start(t, "-dsn", file, "-listen", "127.0.0.1:0")
	require.ErrorContains(t, p.wait(), "cannot start: create the tables of the models: ")
	require.Contains(t, p.stderr.String(), "worker id released")
}
