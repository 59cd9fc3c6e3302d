//go:build prove

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCheck checks that errors on only some platforms are found there, also in tests.
func TestCheck(t *testing.T) {
	t.Parallel()
	const overflow = `import "strconv"; var _ = strconv.Itoa(1<<62)`
	for name, c := range map[string]struct{ file, code, platform, fault string }{
		"fits":             {"p.go", overflow, "linux/arm64", ""},
		"overflows":        {"p.go", overflow, "linux/386", "overflows"},
		"a test overflows": {"p_test.go", overflow, "linux/386", "overflows"},
		"in a body":        {"p.go", `func _() int { return 1<<62 }`, "linux/arm", "overflows"},
		"of Unix":          {"p.go", `import "syscall"; var _ = syscall.Kill`, "freebsd/amd64", ""},
		"not of Windows":   {"p.go", `import "syscall"; var _ = syscall.Kill`, "windows/amd64", "undefined: syscall.Kill"},
		"no platform":      {"p.go", ``, "linux/8086", "no platform"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, text := range map[string]string{"go.mod": "module p\n", "doc.go": "package p\n", c.file: "package p\n" + c.code + "\n"} {
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
			}
			err := check(t.Context(), dir, c.platform)
			if c.fault == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.fault)
		})
	}
}
