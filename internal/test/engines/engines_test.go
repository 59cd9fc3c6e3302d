package main

import (
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
