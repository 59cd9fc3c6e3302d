// Package ent shows how to use Ent with snowflake ids. Package ids has the mixin and the
// hook, package schema an entity that uses them, and testdata/program a complete program.
package ent

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowlease/snowlease/internal/test/limit"

	"github.com/stretchr/testify/require"
)

// TestEnt generates Ent's code, builds the program with it, and runs it. It works on a
// copy of this module.
func TestEnt(t *testing.T) {
	t.Parallel()
	module, dir := "..", t.TempDir()
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	copyFile := func(from, to string) {
		text, err := os.ReadFile(filepath.Join(module, from))
		require.NoError(t, err)
		text = []byte(strings.ReplaceAll(string(text), "=> ../..", "=> "+root))
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, to)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, to), text, 0o644))
	}
	copyFile("go.mod", "go.mod")
	copyFile("go.sum", "go.sum")
	copyFile("ent/ids/ids.go", "ent/ids/ids.go")
	copyFile("ent/schema/order.go", "ent/schema/order.go")
	copyFile("ent/testdata/program/main.go", "ent/program/main.go")
	run := func(args ...string) string {
		cmd := exec.CommandContext(limit.Compiling(t), "go", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "go %v: %s", args, out)
		return string(out)
	}
	gen := filepath.Join(dir, "ent", "gen")
	require.NoError(t, os.MkdirAll(gen, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(gen, "gen.go"), []byte("package gen\n"), 0o644)) // Ent asks the go command for this package
	run("tool", "ent", "generate", "--target", "ent/gen", "./ent/schema")
	for range 2 { // the second run finds the tables and the rows
		require.Regexp(t, `^\d{18} 5\n\d{18} 6\n\d{18} 7\n$`, run("run", "./ent/program"))
	}
}
