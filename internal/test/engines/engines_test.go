package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../../.."

// TestTable checks that the table is what the last runs gave, and that the pages for users
// name the versions that were run, and no others.
func TestTable(t *testing.T) {
	results, err := read(root)
	require.NoError(t, err)
	require.NotEmpty(t, results.Runs)
	page, err := os.ReadFile(filepath.Join(root, tablePage))
	require.NoError(t, err)
	want, err := results.replace(string(page))
	require.NoError(t, err)
	require.Equal(t, want, string(page), "%s: run go run ./internal/test/engines", tablePage)

	for _, file := range []string{"docs/engines.md", "docs/zh-CN/engines.md"} {
		page, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		for _, s := range servers {
			_, rest, found := strings.Cut(string(page), "\n| "+s.name+" | ")
			require.True(t, found, "%s: no row of %s", file, s.name)
			cells := strings.SplitN(rest, " | ", 3)
			named := strings.FieldsFunc(cells[1], func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
			var ran []string
			for _, r := range results.Runs {
				if r.Engine == s.name && r.Server != "" {
					ran = append(ran, strings.Fields(r.Server)[1])
				}
			}
			for _, version := range ran {
				require.True(t, slices.ContainsFunc(named, func(n string) bool { return strings.HasPrefix(version+".", n+".") }), "%s: %s %s ran", file, s.name, version)
			}
			for _, n := range named {
				require.True(t, slices.ContainsFunc(ran, func(version string) bool { return strings.HasPrefix(version+".", n+".") }), "%s: %s %s did not run", file, s.name, n)
			}
		}
	}
}

// TestCount counts tests without subtests that had the server, and lists whatever failed.
func TestCount(t *testing.T) {
	type event struct{ Action, Package, Test, Key, Value, Output string }
	var out []byte
	for _, e := range []event{
		{Action: "attr", Test: "TestA/mysql", Key: "server", Value: "MySQL 9.7.4"},
		{Action: "attr", Test: "TestA/mysql", Key: "program", Value: "/usr/sbin/mysqld"},
		{Action: "pass", Test: "TestA/mysql/one"},
		{Action: "fail", Test: "TestA/mysql/two"},
		{Action: "skip", Test: "TestA/mysql/three"},
		{Action: "fail", Test: "TestA/mysql"},
		{Action: "skip", Test: "TestA/redis"},
		{Action: "pass", Test: "TestA/sqlite"},
		{Action: "fail", Test: "TestA"},
		{Action: "pass", Test: "TestElsewhere"},
		{Action: "attr", Test: "TestTwoEngines", Key: "server", Value: "MySQL 9.7.4"},
		{Action: "output", Test: "TestTwoEngines", Output: "SNOWLEASE_TEST_ENGINE=mysql leaves out Redis\n"},
		{Action: "skip", Test: "TestTwoEngines"},
		{Action: "attr", Test: "TestC", Key: "server", Value: "MySQL 9.7.4"},
		{Action: "fail", Test: "TestC"}, // its subtest passed
		{Action: "pass", Test: "TestC/part"},
		{Action: "output", Test: "TestC", Output: "why\n"},
		{Action: "fail"},
		{Action: "fail", Package: "x/leaks"}, // after its tests
		{Action: "output", Package: "x/leaks", Output: "left out: the absent engine\n"},
	} {
		if e.Package == "" {
			e.Package = "x/dbseq"
		}
		line, err := json.Marshal(e)
		require.NoError(t, err)
		out = append(append(out, line...), '\n')
	}
	got := parse(out)
	require.Equal(t, "MySQL 9.7.4", got.server)
	require.Equal(t, "/usr/sbin/mysqld", got.program)
	require.Equal(t, "the absent engine", got.leftOut)
	failed := []string{"TestA/mysql/two", "TestC", "go test leaks"}
	require.Equal(t, Count{Passed: 2, Skipped: 1, Failed: failed}, got.count("mysql"))
	require.Equal(t, 3, got.count("sqlite").Passed)
	require.Contains(t, got.said(failed), "why\n")
	require.Equal(t, Count{}, parse(nil).count("mysql"))
}

// TestSuites checks that what is selected by name exists.
func TestSuites(t *testing.T) {
	for _, s := range servers {
		for _, suite := range s.suites() {
			pkg := suite.args[len(suite.args)-1]
			if suite.name == chaos {
				pkg = suite.args[2]
			}
			require.DirExists(t, filepath.Join(root, suite.folder, strings.TrimSuffix(pkg, "/...")), "%s %s", s.name, suite.name)
		}
	}
}
