//go:build gormsuite

package gormsuite

import (
	"bufio"
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/snowlease/snowlease/internal/test/limit"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/testserver"
)

func TestMain(m *testing.M) { testserver.Main(m) }

func TestGORMSuite(t *testing.T) {
	checkout := os.Getenv("GORM_SUITE")
	require.NotEmpty(t, checkout, "set GORM_SUITE to a checkout of GORM")
	program := build(t, checkout)
	for _, d := range []struct {
		name string
		dsn  func(testing.TB) string
	}{
		{"sqlite", func(testing.TB) string { return "" }},
		{"mysql", func(t testing.TB) string { return testserver.MySQL(t) + "&charset=utf8mb4&loc=Local" }},
		{"postgres", testserver.Postgres},
	} {
		t.Run(d.name, func(t *testing.T) {
			alone, passed := run(t, program, d.name, d.dsn(t), "")
			filled, _ := run(t, program, d.name, d.dsn(t), "1")
			t.Logf("%d tests pass alone, %d fail alone, %d fail with the plugin", passed, len(alone), len(filled))
			require.Greater(t, passed, 1000)
			want := expected(t, d.name)
			for name, output := range filled {
				if _, also := alone[name]; !also && !want[name] {
					t.Errorf("%s fails with the plugin:\n%s", name, output)
				}
			}
			for name := range want {
				if _, fails := filled[name]; !fails {
					t.Errorf("%s passes with the plugin: take it from expected.txt", name)
				}
			}
		})
	}
}

// build compiles the suite from a copy of the checkout in which every gorm.Open uses the
// plugin, and returns the program.
func build(t *testing.T, checkout string) string {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(checkout)))
	place := func(from, to string) {
		b, err := os.ReadFile(filepath.Join("testdata", from))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, to), b, 0o600))
	}
	file := filepath.Join(dir, "gorm.go")
	source, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, 1, bytes.Count(source, []byte("\nfunc Open(")), "%s is not GORM", checkout)
	require.NoError(t, os.WriteFile(file, bytes.Replace(source, []byte("\nfunc Open("), []byte("\nfunc openAlone("), 1), 0o600))
	place("open.go.txt", "after_open.go")
	place("plugin_test.go.txt", "tests/a_plugin_test.go") // its init runs before the one that connects
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	tests := filepath.Join(dir, "tests")
	const module = "github.com/snowlease/snowlease"
	command(t, tests, "go", "mod", "edit", "-require="+module+"@v0.0.0", "-replace="+module+"="+root)
	command(t, tests, "go", "mod", "tidy")
	command(t, tests, "go", "test", "-c", "-o", "suite", ".")
	return filepath.Join(tests, "suite")
}

func command(t *testing.T, dir string, argv ...string) {
	t.Helper()
	cmd := exec.CommandContext(limit.Compiling(t), argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", cmd, out)
}

// run returns the output of each test that failed without a failed subtest, and the
// number of tests that passed.
func run(t *testing.T, program, dialect, dsn, plugin string) (failed map[string]string, passed int) {
	cmd := exec.CommandContext(limit.Compiling(t), "go", "tool", "test2json", program, "-test.v=test2json")
	cmd.Dir = filepath.Dir(program)
	cmd.Env = append(os.Environ(), "GORM_DIALECT="+dialect, "GORM_DSN="+dsn, "GORM_SUITE_PLUGIN="+plugin, "TMPDIR="+t.TempDir(), "DEBUG=false")
	out, err := cmd.Output() // the exit code is that of the suite
	require.NotEmpty(t, out, "%v", err)
	failed = map[string]string{}
	output := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<24)
	ended := false
	for lines.Scan() {
		var event struct{ Action, Test, Output string }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &event))
		switch event.Action {
		case "output":
			output[event.Test] += event.Output
		case "pass":
			passed++
		case "fail":
			failed[event.Test] = output[event.Test]
		}
		ended = event.Test == "" && (event.Action == "pass" || event.Action == "fail")
	}
	require.NoError(t, lines.Err())
	require.True(t, ended, "the suite did not end:\n%s", output[""])
	delete(failed, "")
	for _, name := range slices.Collect(maps.Keys(failed)) {
		for parent := name; strings.Contains(parent, "/"); {
			parent = parent[:strings.LastIndex(parent, "/")]
			delete(failed, parent)
		}
	}
	return failed, passed
}

// expected reads expected.txt: lines of dialects, a test and the reason for its failure.
func expected(t *testing.T, dialect string) map[string]bool {
	b, err := os.ReadFile("expected.txt")
	require.NoError(t, err)
	want := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.SplitN(line, " ", 3)
		require.Len(t, fields, 3, "give a reason: %s", line)
		if slices.Contains(strings.Split(fields[0], ","), dialect) {
			want[fields[1]] = true
		}
	}
	return want
}
