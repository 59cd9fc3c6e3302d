package mutation_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A list is the mutants that the tests of one package kill.
type list struct {
	title   string
	pkg     string // a directory
	killers string // prefix of the names of all killers
	mutants []mutant
	// loaders are where the package reads its embedded scripts. They are changed to read
	// other texts.
	loaders []mutant
}

// A mutant is the module with one rule replaced.
type mutant struct {
	without string // what is missing or wrong, for readers
	file    string // of a statement of SQL with #name
	rule    string // occurs there once
	instead string
	killer  string // the test that must fail
}

// source returns the file of m with its rule, and with the replacement.
func (m mutant) source(t testing.TB) (product, mutated string) {
	t.Helper()
	text, err := os.ReadFile(root(t, m.file))
	require.NoError(t, err)
	product = string(text)
	before, within, after := "", product, ""
	if _, section, ok := strings.Cut(m.file, "#"); ok {
		heading := "-- name: " + section + "\n"
		before, within, ok = strings.Cut(product, heading)
		require.True(t, ok, "there is a statement %s", m.file)
		before += heading
		within, _, _ = strings.Cut(within, "\n-- name: ")
		after = strings.TrimPrefix(product, before+within)
	}
	insteads := strings.Split(m.instead, and)
	mutated = within
	for i, rule := range strings.Split(m.rule, and) {
		assert.Equal(t, 1, strings.Count(within, rule), "%q stands in %s once: adapt the mutant to the code", rule, m.file)
		mutated = strings.Replace(mutated, rule, insteads[i], 1)
	}
	return product, before + mutated + after
}

// and separates the parts of a rule that is spread over several places.
const and = "\n...\n"

// embedded reports whether the file is embedded rather than compiled.
func (m mutant) embedded() bool { return filepath.Ext(m.file) != ".go" }

// root returns the path of a file of the module.
func root(t testing.TB, file string) string {
	t.Helper()
	file, _, _ = strings.Cut(file, "#")
	path, err := filepath.Abs(filepath.Join("../..", file))
	require.NoError(t, err)
	return path
}

// overlay returns the flag that makes the go command read these texts instead of the files.
func overlay(t testing.TB, dir string, texts map[string]string) string {
	t.Helper()
	files := map[string]string{}
	for file, text := range texts {
		files[root(t, file)] = write(t, dir, strings.ReplaceAll(file, "/", "_"), text)
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

// run runs a killer on a mutant and returns what it prints.
func (l list) run(t testing.TB, b build, m mutant) string {
	t.Helper()
	out, _ := l.command(t, b, &m, pattern(l.test(m.killer))).CombinedOutput() // the test is expected to fail
	return string(out)
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
