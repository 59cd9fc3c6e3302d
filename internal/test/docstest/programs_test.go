//go:build prove

package docstest

import (
	"bufio"
	"bytes"
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
	for page, programs := range map[string]int{"README.md": 1, "docs/guide.md": 1, "docs/numbers.md": 1, "docs/zh-CN/numbers.md": 1} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			runPrograms(t, page, programs)
		})
	}
}

func runPrograms(t *testing.T, page string, programs int) {
	t.Helper()
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
	require.Equal(t, programs, n)
}

// TestReadmeWithoutARelease takes the module from a clone, as README says, in an empty folder.
func TestReadmeWithoutARelease(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	const get, edit = "go get github.com/snowlease/snowlease", "go mod edit -require github.com/snowlease/snowlease@v0.1.0 -replace github.com/snowlease/snowlease=../snowlease"
	require.Contains(t, string(text), "`"+edit+"`")
	var program, setup string
	for _, b := range parsePage("README.md", string(text)).blocks {
		if strings.HasPrefix(b.text, "package main\n") && program == "" {
			program = b.text
		} else if b.lang == "console" && setup == "" {
			setup = commandsOf(b)[0].line
		}
	}
	require.Contains(t, setup, get)
	dir := t.TempDir()
	clone, err := filepath.Abs(root)
	require.NoError(t, err)
	require.NoError(t, os.Symlink(clone, filepath.Join(dir, "snowlease")))
	shop := filepath.Join(dir, "shop")
	require.NoError(t, os.Mkdir(shop, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(shop, "main.go"), []byte(program), 0o600))
	cmd := exec.CommandContext(limit.Compiling(t), "sh", "-ec", strings.Replace(setup, get, edit, 1)+" && go vet . && go list -m modernc.org/sqlite")
	cmd.Dir = shop
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	require.Contains(t, string(mod), "\t"+string(out[bytes.LastIndexByte(bytes.TrimSpace(out), '\n')+1:len(out)-1]), "a later one may need a later Go")
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
