// Package limit bounds what a test may wait for. Calls of a test to servers, programs and
// browsers take Context:
//
//	out, err := exec.CommandContext(limit.Context(t), "go", "version").CombinedOutput()
//
// A test that takes longer than its limit fails at once: it shows where it waits and what
// the things it watches say, such as the stacks and the log of a server, and ends them, so
// that calls without a context return too. Package testserver watches all its servers.
package limit

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// Default is how long a test may take from its first call to this package on.
const Default = 10 * time.Minute

// Watched is something that a test waits for.
type Watched interface {
	// Report says what it does.
	Report() string
	// Abort ends it, so that calls to it return.
	Abort()
}

// watches has the tests that run.
var (
	creating sync.Mutex
	watches  = map[testing.TB]*watch{}
)

// A watch is the limit of one test.
type watch struct {
	t      testing.TB
	ctx    context.Context //nolint:containedctx // lives as long as one test
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	limit   time.Duration
	timer   *time.Timer
	watched []Watched
	ended   bool
}

// Set sets how long the test may take from now on.
func Set(t testing.TB, d time.Duration) {
	t.Helper()
	w := of(t)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limit = d
	w.timer.Reset(d)
}

// Context returns a context that ends with the test or its limit.
func Context(t testing.TB) context.Context { return of(t).ctx }

// Compiling is Context for the go command, which may have much to fetch and to compile. The
// limit is ten minutes then.
func Compiling(t testing.TB) context.Context {
	t.Helper()
	Set(t, 10*time.Minute)
	return Context(t)
}

// Watch ends s if the test misses its limit. Benchmarks have none.
func Watch(t testing.TB, s Watched) {
	t.Helper()
	if _, ok := t.(*testing.B); ok {
		return
	}
	w := of(t)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watched = append(w.watched, s)
}

func of(t testing.TB) *watch {
	t.Helper()
	creating.Lock()
	defer creating.Unlock()
	if w := watches[t]; w != nil {
		return w
	}
	w := &watch{t: t, limit: Default}
	w.ctx, w.cancel = context.WithCancelCause(t.Context())
	w.timer = time.AfterFunc(w.limit, w.missed)
	watches[t] = w
	t.Cleanup(func() {
		w.end()
		creating.Lock()
		defer creating.Unlock()
		delete(watches, t)
	})
	return w
}

func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	w.timer.Stop()
	w.cancel(nil)
}

// missed holds the lock, so that the test does not end in between.
func (w *watch) missed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	late := fmt.Errorf("the test is not done within %v", w.limit)
	var report strings.Builder
	fmt.Fprintf(&report, "%v. It waits here:\n%s", late, waiting())
	for _, s := range w.watched {
		report.WriteString("\n\n" + s.Report())
	}
	w.t.Error(report.String())
	w.cancel(late)
	for _, s := range w.watched {
		s.Abort()
	}
}

// waiting returns the goroutines that run tests.
func waiting() string {
	all := make([]byte, 4<<20)
	var tests []string
	for goroutine := range strings.SplitSeq(string(all[:runtime.Stack(all, true)]), "\n\n") {
		if strings.Contains(goroutine, "_test.go:") && !strings.Contains(goroutine, "testing.(*T).Run(") && !strings.Contains(goroutine, "testing.(*T).Parallel(") {
			tests = append(tests, goroutine)
		}
	}
	return strings.Join(tests, "\n\n")
}
