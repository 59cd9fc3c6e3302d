package main

import (
	"bytes"
	"context"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/snowlease/snowlease/casstore"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/leasetest"
)

// TestMain runs main if a test started this binary as a process of the application.
func TestMain(m *testing.M) {
	if os.Getenv("OWNCENTER_PROCESS") != "" {
		main()
		return
	}
	_ = flag.Set("test.parallel", "8") // tests mostly wait; -parallel overrides this
	goleak.VerifyTestMain(m)
}

func TestCenterIsShort(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("center.go")
	require.NoError(t, err)
	require.Less(t, bytes.Count(source, []byte("\n")), 60)
}

func TestContract(t *testing.T) {
	t.Parallel()
	leasetest.Run(t, func(t testing.TB) leasetest.Store { return newFixture(t) })
}

// A fixture is a service with the faults of the suite. The service may lose objects, and
// another incarnation of it looks the same.
type fixture struct {
	*service
	bucket bucket
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	s := newService()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return &fixture{s, bucket{server.URL, server.Client()}}
}

func (f *fixture) Center(testing.TB) lease.Center       { return casstore.New(f.bucket) }
func (f *fixture) Sleep(d time.Duration)                { time.Sleep(d) }
func (f *fixture) Snapshot(testing.TB) (restore func()) { return f.snapshot() }
func (f *fixture) Reincarnate(testing.TB)               {}
func (f *fixture) Traits() leasetest.Traits             { return leasetest.Traits{LeastRecentlyUsed: true} }

func (f *fixture) Wipe(testing.TB) {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.objects)
}

func (f *fixture) Drop(t testing.TB, namespace string, what leasetest.Records) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path := "/" + namespace
	f.put(path, leasetest.DropRecord(t, f.objects[path].value, what))
}

// Processes that start together on an empty service issue distinct ids, and no two have the
// same worker id at one time.
func TestProcesses(t *testing.T) {
	t.Parallel()
	const processes, ids = 6, 20_000
	f := newFixture(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var (
		wg      sync.WaitGroup
		outputs [processes][]byte
		errs    [processes]error
	)
	for i := range processes {
		wg.Go(func() {
			cmd := exec.CommandContext(ctx, os.Args[0], "-url", f.bucket.url, "-n", strconv.Itoa(ids))
			cmd.Env = append(os.Environ(), "OWNCENTER_PROCESS=1")
			outputs[i], errs[i] = cmd.Output()
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	var all [processes][]string
	for i, out := range outputs {
		require.NoError(t, errs[i])
		lines := strings.Fields(string(out))
		require.Len(t, lines, 2+ids)
		for _, id := range lines[2:] {
			require.False(t, seen[id], "id %s came twice", id)
			seen[id] = true
		}
		for _, other := range all[:i] { // one of them may have ended before the other began
			if lines[1] == other[1] {
				require.True(t, lines[1+ids] < other[2] || other[1+ids] < lines[2], "both had worker id %s", lines[1])
			}
		}
		all[i] = lines
	}
}

func TestRunByItself(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-n", "3"}, &out))
	require.Regexp(t, `^worker \d+\n(\d{18,19}\n){3}$`, out.String())

	require.Error(t, run(t.Context(), []string{"-listen", "nowhere"}, &out))
}

// Other refusals of the service are errors with its answer.
func TestServiceRefuses(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no signature", http.StatusForbidden)
	}))
	t.Cleanup(server.Close)
	b := bucket{server.URL, server.Client()}
	_, err := b.Load(t.Context(), "orders")
	require.ErrorContains(t, err, "403 Forbidden: no signature")
	_, err = b.Swap(t.Context(), "orders", `"1"`, nil)
	require.ErrorContains(t, err, "PUT "+server.URL+"/orders: 403")
	require.NotErrorIs(t, err, casstore.ErrChanged)
}
