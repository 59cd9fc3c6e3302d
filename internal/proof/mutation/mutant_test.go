package mutation_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A list is the mutants that the tests of one package kill.
type list struct {
	title   string
	pkg     string // a directory
	killers string // prefix of the names of all killers
	mutants []mutant
	// loaders are where the package reads its embedded scripts. One test binary runs
	// all mutants of these scripts: its loaders are changed to read other texts.
	loaders []mutant
}

// A mutant is the module with one rule replaced.
type mutant struct {
	without string // what is missing or wrong, for readers
	file    string
	rule    string // occurs in the file once
	instead string
	killer  string // the test that must fail
}

// source returns the file of m with its rule, and with the replacement.
func (m mutant) source(t testing.TB) (product, mutated string) {
	t.Helper()
	text, err := os.ReadFile(root(t, m.file))
	require.NoError(t, err)
	product, mutated = string(text), string(text)
	insteads := strings.Split(m.instead, and)
	for i, rule := range strings.Split(m.rule, and) {
		require.Equal(t, 1, strings.Count(product, rule), "%q stands in %s once: adapt the mutant to the code", rule, m.file)
		mutated = strings.Replace(mutated, rule, insteads[i], 1)
	}
	return product, mutated
}

// and separates the parts of a rule that is spread over several places.
const and = "\n...\n"

// embedded reports whether the file is embedded rather than compiled.
func (m mutant) embedded() bool { return filepath.Ext(m.file) != ".go" }

// root returns the path of a file of the module.
func root(t testing.TB, file string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../..", file))
	require.NoError(t, err)
	return path
}

// mutated is the function that a changed loader calls.
const mutated = `
import "os"

func mutated(texts ...string) []string {
	of, _ := os.ReadFile(os.Getenv("SNOWLEASE_MUTANT_OF"))
	instead, _ := os.ReadFile(os.Getenv("SNOWLEASE_MUTANT"))
	for i, text := range texts {
		if text == string(of) {
			texts[i] = string(instead)
		}
	}
	return texts
}
`

// overlay returns the flag that makes the go command read these texts instead of the files.
func overlay(t testing.TB, dir string, texts map[string]string) string {
	t.Helper()
	files := map[string]string{}
	for file, text := range texts {
		files[root(t, file)] = write(t, dir, filepath.Base(file), text)
	}
	list, err := json.Marshal(map[string]any{"Replace": files})
	require.NoError(t, err)
	return "-overlay=" + write(t, dir, "overlay.json", string(list))
}

func write(t testing.TB, dir, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// binary builds the tests of l with its loaders changed.
func (l list) binary(t testing.TB, dir string) (path string) {
	t.Helper()
	path = filepath.Join(dir, "mutants.test")
	texts := map[string]string{}
	for _, m := range l.loaders {
		_, texts[m.file] = m.source(t)
		pkg := filepath.Dir(m.file)
		texts[pkg+"/mutated.go"] = "package " + filepath.Base(pkg) + "\n" + mutated
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-o", path, overlay(t, dir, texts), "./"+l.pkg)
	cmd.Dir = root(t, ".")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return path
}

// run runs a killer on a mutant and returns what it prints.
func (l list) run(t testing.TB, m mutant, binary string) string {
	t.Helper()
	dir, test := t.TempDir(), pattern(l.test(m.killer))
	_, text := m.source(t)
	if !m.embedded() {
		out, _ := l.goTest(t, test, "-v", overlay(t, dir, map[string]string{m.file: text})) // the test is expected to fail
		return out
	}
	cmd := exec.CommandContext(t.Context(), binary, "-test.run="+test, "-test.timeout=2m", "-test.v")
	cmd.Dir = root(t, l.pkg)
	cmd.Env = append(os.Environ(), "SNOWLEASE_MUTANT_OF="+root(t, m.file), "SNOWLEASE_MUTANT="+write(t, dir, "mutant", text))
	out, _ := cmd.CombinedOutput()
	return string(out)
}

func (l list) goTest(t testing.TB, tests string, flags ...string) (out string, err error) {
	t.Helper()
	args := append([]string{"test", "-vet=off", "-count=1", "-timeout=2m", "-run=" + tests}, flags...)
	cmd := exec.CommandContext(t.Context(), "go", append(args, ".")...)
	cmd.Dir = root(t, l.pkg) // which may be a module of its own
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// test returns the full name of a killer, as go test prints it.
func (l list) test(killer string) string { return strings.ReplaceAll(l.killers+killer, " ", "_") }

// pattern returns the -run pattern that selects exactly these tests.
func pattern(tests ...string) string {
	var patterns []string
	for _, test := range tests {
		elements := strings.Split(test, "/")
		for i, e := range elements {
			elements[i] = "^" + regexp.QuoteMeta(e) + "$"
		}
		patterns = append(patterns, strings.Join(elements, "/"))
	}
	return strings.Join(patterns, "|")
}

// leftOut reports whether the test was skipped, because an engine cannot be had.
func leftOut(out, test string) bool { return strings.Contains(out, "--- SKIP: "+test+" (") }

// killed reports whether the output shows that the test failed by itself, rather than
// crashed, hung or was not built.
func killed(out, test string) bool {
	failed := regexp.MustCompile(`(?m)^ *--- FAIL: ` + regexp.QuoteMeta(test) + ` \(`)
	return failed.MatchString(out) && !strings.Contains(out, "\npanic: ") && !strings.Contains(out, "fatal error: ")
}
