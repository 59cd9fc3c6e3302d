package docstest

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example|Benchmark)\w*)\(`)
	testName = regexp.MustCompile("`(?:([a-z][a-z0-9/]*)\\.)?((?:Test|Fuzz|Example|Benchmark)[A-Z_]\\w*)(\\*?)[/`]")
	ofTests  = regexp.MustCompile(`\| (?:test|held by|killed by) \|`)
	goName   = regexp.MustCompile("`((" + `[a-z]+` + `)\.[A-Z]\w*(?:\.[A-Z]\w*)?)`)
	metric   = regexp.MustCompile("`(idworker_[a-z_]+)")
	alert    = regexp.MustCompile(`\b(IdWorker[A-Z][A-Za-z]+)`)
	contract = regexp.MustCompile("contract: `([^`]+)`")
)

// tests maps each package to the names of its tests, and whether they are behind the tag prove.
type tests map[string]map[string]bool

// sources returns the Go code of each package, and the names of its tests.
var sources = sync.OnceValues(func() (code map[string]string, names tests) {
	code, names = map[string]string{}, tests{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root:
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.Contains(path, "docstest"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		dir = filepath.ToSlash(dir)
		code[dir] += string(text)
		if strings.HasSuffix(path, "_test.go") {
			for _, m := range testFunc.FindAllStringSubmatch(string(text), -1) {
				if names[dir] == nil {
					names[dir] = map[string]bool{}
				}
				names[dir][m[1]] = strings.HasPrefix(string(text), "//go:build prove\n")
			}
		}
		return err
	})
	if err != nil {
		panic(err)
	}
	return code, names
})

// unknownTests returns the tests that the prose names and that do not exist. A name may end
// in *, which stands for any suffix. It may begin with its package, as in lease.TestX.
//
// A table with a column for tests names the tests of one package: the package of the
// name, or those that the row links to, or those that the line before the table links to.
func unknownTests(p page) (list []string) {
	_, names := sources()
	var (
		said      []string // the packages that the last line outside a table links to
		row, rows bool     // the line is a row; its table has a column for tests
	)
	for line := range strings.Lines(p.prose) {
		before := row
		if row = strings.HasPrefix(line, "|"); row && !before {
			rows = ofTests.MatchString(line)
		} else if !row && strings.TrimSpace(line) != "" {
			said = names.linked(p, line)
		}
		for _, m := range testName.FindAllStringSubmatch(line, -1) {
			in := slices.Collect(maps.Keys(names))
			if m[1] != "" {
				in = slices.DeleteFunc(in, func(dir string) bool { return !strings.HasSuffix("/"+dir, "/"+m[1]) })
			} else if row && rows {
				if in = names.linked(p, line); len(in) == 0 {
					in = said
				}
			}
			if !slices.ContainsFunc(in, func(dir string) bool { return names.has(dir, m[2], m[3] == "*") }) {
				list = append(list, strings.Trim(m[0], "`/"))
			}
		}
	}
	return list
}

var (
	testFuncName = regexp.MustCompile(`(?:Test|Fuzz|Benchmark)[A-Z]\w*`)
	testCommand  = regexp.MustCompile("(?:cd ([\\w/]+) && )?go (?:-C ([\\w/]+) )?test [^`\n]*")
)

// TestCommandsForProofs checks that commands which name tests behind the tag prove have it.
func TestCommandsForProofs(t *testing.T) {
	t.Parallel()
	_, names := sources()
	seen := 0
	for _, p := range pages(t) {
		text := p.prose
		for _, b := range p.blocks {
			text += b.text + "\n"
		}
		for _, m := range testCommand.FindAllStringSubmatch(text, -1) {
			for _, arg := range append(strings.Fields(m[0]), ".") {
				if arg != "." && !strings.HasPrefix(arg, "./") {
					continue
				}
				for _, name := range testFuncName.FindAllString(m[0], -1) {
					if names[path.Join(m[1], m[2], strings.TrimSuffix(arg, "/..."))][name] {
						seen++
						require.Contains(t, m[0], "-tags prove", p.name)
					}
				}
			}
		}
	}
	require.NotZero(t, seen)
}

func (names tests) has(dir, name string, begins bool) bool {
	for n := range names[dir] {
		if n == name || begins && strings.HasPrefix(n, name) {
			return true
		}
	}
	return false
}

// linked returns the packages with tests that a line links to, directly or through a file.
func (names tests) linked(p page, line string) (dirs []string) {
	for _, m := range link.FindAllStringSubmatch(line, -1) {
		target := path.Join(path.Dir(p.name), m[1])
		for _, dir := range []string{target, path.Dir(target)} {
			if names[dir] != nil {
				dirs = append(dirs, dir)
				break
			}
		}
	}
	return dirs
}

// unknownTexts returns the metrics and contract cases that the prose
// names and the code does not have.
func unknownTexts(p page) (list []string) {
	packages, _ := sources()
	code := strings.Join(slices.Collect(maps.Values(packages)), "\n")
	look := func(re *regexp.Regexp, text, before, after string) {
		for _, m := range re.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(code, before+m[1]+after) {
				list = append(list, m[1])
			}
		}
	}
	look(metric, p.prose, `"`, `"`)
	code = packages["lease/leasetest"]
	look(contract, p.prose, `"`, `"`)
	return list
}

func TestNames(t *testing.T) {
	t.Parallel()
	alerts, err := os.ReadFile(filepath.Join(root, "deploy", "dashboards", "alerts.yml"))
	require.NoError(t, err)
	n := 0
	for _, p := range pages(t) {
		for _, name := range unknownTests(p) {
			t.Errorf("%s: there is no test %s; a row of a table of tests says in which package, as in dbseq.TestContract", p.name, name)
		}
		for _, text := range unknownTexts(p) {
			t.Errorf("%s: %s is not there", p.name, text)
		}
		for _, m := range alert.FindAllStringSubmatch(p.prose, -1) {
			n++
			if !strings.Contains(string(alerts), "alert: "+m[1]+"\n") {
				t.Errorf("%s: there is no alert %s", p.name, m[1])
			}
		}
	}
	require.Positive(t, n)
}
