package docstest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// events returns the lines that packages of this module write to a *slog.Logger: calls
// of its methods and of Keeper.failed with a constant message. A line has the keys, as far
// as the call shows them.
func events(t *testing.T) map[string][]string {
	t.Helper()
	// The index of the message among the arguments.
	message := map[string]int{"Debug": 0, "Info": 0, "Warn": 0, "Error": 0, "Log": 2, "failed": 1}
	found := map[string][]string{}
	for _, dir := range []string{".", "idworker", "internal/counter", "internal/keeper", "numbers", "hostseq", "dbseq", "redisseq"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if dir == "." && d.IsDir() && path != root { // the root's own files only
				return fs.SkipDir
			}
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "leasetest") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				method, ok := call.Fun.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				at, ok := message[method.Sel.Name]
				if !ok || len(call.Args) <= at {
					return true
				}
				what, ok := constant(call.Args[at])
				if !ok {
					return true
				}
				found[what] = nil
				for i := at + 1; i < len(call.Args); i += 2 {
					if key, ok := constant(call.Args[i]); ok {
						found[what] = append(found[what], key)
					}
				}
				return true
			})
			return nil
		}))
	}
	return found
}

func constant(n ast.Node) (string, bool) {
	if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
		text, err := strconv.Unquote(lit.Value)
		return text, err == nil
	}
	return "", false
}

// TestLogEvents checks that the table of log events has every line that is written,
// with its keys.
func TestLogEvents(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs", "design", "log.md"))
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "\n## Log events\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n## ")
	told := map[string]string{}
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); len(cells) == 5 && strings.HasPrefix(cells[1], " `") {
			told[strings.Trim(cells[1], " `")] = cells[3]
		}
	}
	written := events(t)
	require.Greater(t, len(written), 10)
	for what, written := range written {
		keys, ok := told[what]
		if !ok {
			t.Errorf("docs/design/log.md has no log event %q", what)
			continue
		}
		words := strings.FieldsFunc(keys, func(r rune) bool { return (r < 'a' || r > 'z') && r != '_' })
		for _, key := range written {
			require.Contains(t, words, key, "%q", what)
		}
	}
	for what := range told {
		if _, ok := written[what]; !ok {
			t.Errorf("docs/design/log.md: nobody logs %q", what)
		}
	}
}
