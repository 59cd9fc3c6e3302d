//go:build prove

package docstest

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/snowlease/snowlease/internal/test/limit"

	"github.com/stretchr/testify/require"
)

var digits = regexp.MustCompile(`\d+`)

// slow is what GORM prints of a statement that took longer than 200 ms, as the disk pleases.
var slow = regexp.MustCompile(`\r?\n[^\n]*SLOW SQL[^\n]*\n[^\n]*\n`)

// TestPrograms runs the programs of a page one after the other in one folder, as a reader
// would. They must print what the page shows; digits may differ.
func TestPrograms(t *testing.T) {
	t.Parallel()
	const page = "docs/guide.md"
	text, err := os.ReadFile(filepath.Join(root, page))
	require.NoError(t, err)
	blocks := parsePage(page, string(text)).blocks
	dir, n := t.TempDir(), 0
	for i, b := range blocks {
		if b.lang != "go" || !strings.HasPrefix(b.text, "package main\n") {
			continue
		}
		require.Less(t, i+1, len(blocks))
		require.Equal(t, "console", blocks[i+1].lang, "what does the program in line %d print?", b.line)
		told := commandsOf(blocks[i+1])
		require.Equal(t, "go run .", told[len(told)-1].line)
		source, bin := filepath.Join(dir, fmt.Sprintf("main%d.go", n)), filepath.Join(dir, fmt.Sprint("main", n))
		require.NoError(t, os.WriteFile(source, []byte(b.text), 0o600))
		build := exec.CommandContext(limit.Compiling(t), "go", "build", "-o", bin, source)
		out, err := build.CombinedOutput()
		require.NoError(t, err, "%s", out)

		want := told[len(told)-1].output
		got, err := play(t, dir, bin, strings.Contains(b.text, ").Run()"))
		require.NoError(t, err, "%s", got)
		got = slow.ReplaceAllString(got, "")
		require.Equal(t, digits.ReplaceAllString(want, "0"), digits.ReplaceAllString(got, "0"))
		n++
	}
	require.Equal(t, 1, n)
}

// TestReadmeWithoutARelease runs the program whose main function README shows, in a folder that takes
// the module from a clone, as README says.
func TestReadmeWithoutARelease(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	const edit, tidy = "go mod edit -require github.com/snowlease/snowlease@v0.1.0 -replace github.com/snowlease/snowlease=../snowlease", "go mod tidy"
	require.Contains(t, string(text), "`"+edit+"`, then `"+tidy+"`")
	program, err := os.ReadFile(filepath.Join(root, "examples/first/main.go"))
	require.NoError(t, err)
	blocks := parsePage("README.md", string(text)).blocks
	require.Contains(t, strings.ReplaceAll(string(program), "\n\t", "\n"), "\nfunc main() {\n"+blocks[0].text+"}\n")
	shown := commandsOf(blocks[1])[0]
	require.Equal(t, "go run ./examples/first", shown.line)
	dir := t.TempDir()
	clone, err := filepath.Abs(root)
	require.NoError(t, err)
	require.NoError(t, os.Symlink(clone, filepath.Join(dir, "snowlease")))
	shop := filepath.Join(dir, "shop")
	require.NoError(t, os.Mkdir(shop, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(shop, "main.go"), program, 0o600))
	cmd := exec.CommandContext(limit.Compiling(t), "sh", "-ec", "go mod init shop && "+edit+" && "+tidy+" && go vet . && go list -m modernc.org/sqlite && go run .")
	cmd.Dir = shop
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	lines := strings.SplitAfter(string(out), "\n")
	sqlite, printed := lines[len(lines)-3], lines[len(lines)-2]
	require.Equal(t, digits.ReplaceAllString(shown.output, "0"), digits.ReplaceAllString(printed, "0"))
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	require.Contains(t, string(mod), "\t"+strings.TrimSpace(sqlite), "a later one may need a later Go")
}

// play runs a program until it ends or fx reports that it is running.
func play(t *testing.T, dir, bin string, stays bool) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(limit.Context(t), bin)
	cmd.Dir = dir
	var stdout, told strings.Builder
	cmd.Stdout = &stdout
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	running := false
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		fmt.Fprintln(&told, lines.Text())
		if lines.Text() == "[Fx] RUNNING" {
			running = true
			require.NoError(t, cmd.Process.Kill())
		}
	}
	err = cmd.Wait()
	if stays && running {
		return stdout.String(), nil
	}
	if err != nil || stays {
		return stdout.String(), errors.Join(err, errors.New("it ended: "+told.String()))
	}
	return stdout.String(), nil
}
