package testserver

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// state is what this test binary has started and which engines it left out. Main cleans up.
var state struct {
	sync.Mutex
	servers map[*Server]struct{}
	leftOut map[string]string // the message, by engine
	folders []string          // temporary ones of all tests
}

// Main runs the tests, stops the remaining servers, looks for goroutines that the
// tests leaked, reports the engines that were left out, and exits. A leak, or a server
// that does not stop, fails the run. The options go to goleak.
func Main(m *testing.M, options ...goleak.Option) {
	code := m.Run()
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	fail(stopAll())
	if code == 0 {
		fail(leaks(options))
	}
	for _, engine := range slices.Sorted(maps.Keys(state.leftOut)) {
		fmt.Println("left out:", state.leftOut[engine])
	}
	os.Exit(code)
}

// leaks looks for some seconds, because a closed Redis client sleeps for one second
// before it stops trying to reach a server that is gone.
func leaks(options []goleak.Option) (err error) {
	for range 5 {
		if err = goleak.Find(options...); err == nil {
			return nil
		}
	}
	return err
}

func stopAll() error {
	state.Lock()
	defer state.Unlock()
	var errs []error
	for s := range state.servers {
		errs = append(errs, s.remove())
	}
	clear(state.servers)
	for _, dir := range state.folders {
		errs = append(errs, os.RemoveAll(dir))
	}
	stopSpawning()
	return errors.Join(errs...)
}

// need skips the test, or fails it in CI, if the engine cannot be started here.
// variable is the environment variable that can name another server, if any.
func need(t testing.TB, e *engine, variable string) {
	t.Helper()
	only(t, e)
	err := e.missing()
	if err == nil {
		return
	}
	target := "prove"
	if slices.ContainsFunc(shares, func(s share) bool { return s.engine.name == e.name && !e.optional }) {
		target = "test"
	}
	line := fmt.Sprintf("%s: %v: make %s installs it and runs this test; or install the package %s", e.name, err, target, e.pkg)
	if e.optional {
		line = fmt.Sprintf("%s: %v: make %s gets it and runs this test; or run scripts/engines.sh %s", e.name, err, target, strings.ToLower(e.name))
	}
	if variable != "" {
		line += " or set " + variable
	}
	if e.optional && unavailable(e) {
		skip(t, e.name, line)
	}
	leaveOut(t, e.name, line)
}

// unavailable reports whether scripts/engines.sh tried in vain to get the engine.
func unavailable(e *engine) bool {
	dir, err := unpacked(strings.ToLower(e.name))
	if err == nil {
		_, err = os.Stat(filepath.Join(dir, "unavailable"))
	}
	return err == nil
}

// leaveOut skips the test, or fails it in CI, and has Main report why.
func leaveOut(t testing.TB, what, line string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(line)
	}
	skip(t, what, line)
}

func skip(t testing.TB, what, line string) {
	t.Helper()
	state.Lock()
	if state.leftOut == nil {
		state.leftOut = map[string]string{}
	}
	state.leftOut[what] = line
	state.Unlock()
	t.Skip(line)
}
