//go:build prove

package testserver

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { Main(m) }

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
