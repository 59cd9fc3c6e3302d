//go:build prove

package testserver

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/limit"
)

// A strace that traces nothing must not pass for one that does.
func TestTracing(t *testing.T) {
	for name, script := range map[string]string{
		"fails":                 "echo 'ptrace: Operation not permitted' >&2; exit 1",
		"runs the program only": "echo 'ptrace: Operation not permitted' >&2; while [ \"$1\" != sync ]; do shift; done; exec \"$@\"",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "strace"), []byte("#!/bin/sh\n"+script+"\n"), 0o700))
			t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
			require.ErrorContains(t, tracing(t.Context()), "ptrace: Operation not permitted")
		})
	}
}

// The last lines of make prove name a test that did not run, until it runs.
func TestNotRun(t *testing.T) {
	script, err := above("scripts/left-out.sh")
	require.NoError(t, err)
	text, err := os.ReadFile(script)
	require.NoError(t, err)
	dir := t.TempDir()
	for _, below := range []string{"scripts", "a/package"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, below), 0o700))
	}
	script = filepath.Join(dir, "scripts", "left-out.sh")
	require.NoError(t, os.WriteFile(script, text, 0o700))
	t.Chdir(filepath.Join(dir, "a/package"))
	t.Setenv("CI", "true")
	for _, reason := range []error{nil, errors.New("nothing traces here"), nil} {
		rec := &recorder{TB: t}
		done := make(chan struct{})
		go func() { // Skip ends the goroutine
			defer close(done)
			notRun(rec, reason)
		}()
		<-done
		require.Equal(t, reason != nil, rec.skipped)
		out, err := exec.CommandContext(limit.Context(t), script).CombinedOutput()
		require.NoError(t, err)
		want := ""
		if reason != nil {
			want = "NOT RUN: TestNotRun: nothing traces here\n"
		}
		require.Equal(t, want, string(out))
	}
	state.Lock()
	delete(state.leftOut, t.Name())
	state.Unlock()
}
