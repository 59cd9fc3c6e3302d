package docstest

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/idworker"
)

var (
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example|Benchmark)\w*)\(`)
	testName = regexp.MustCompile("`((?:Test|Fuzz|Example|Benchmark)[A-Z_]\\w*)(\\*?)[/`]")
	goName   = regexp.MustCompile("`((" + `[a-z]+` + `)\.[A-Z]\w*(?:\.[A-Z]\w*)?)`)
	metric   = regexp.MustCompile("`(idworker_[a-z_]+)")
	alert    = regexp.MustCompile("`(IdWorker[A-Z][A-Za-z]+)`")
	contract = regexp.MustCompile("contract: `([^`]+)`")
	firstRow = regexp.MustCompile("(?m)^\\| `([^`]+)`")
)

// sources is all Go code of the repository, and the names of its tests.
var sources = sync.OnceValues(func() (string, map[string]bool) {
	var all strings.Builder
	names := map[string]bool{}
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
		all.Write(text)
		if strings.HasSuffix(path, "_test.go") {
			for _, m := range testFunc.FindAllStringSubmatch(string(text), -1) {
				names[m[1]] = true
			}
		}
		return err
	})
	if err != nil {
		panic(err)
	}
	return all.String(), names
})

// unknownTests are the tests that the prose names and nobody has written. A name may
// end in *, for all that begin so.
func unknownTests(prose string) (list []string) {
	_, names := sources()
	for _, m := range testName.FindAllStringSubmatch(prose, -1) {
		found := names[m[1]]
		for name := range names {
			found = found || m[2] == "*" && strings.HasPrefix(name, m[1])
		}
		if !found {
			list = append(list, m[1]+m[2])
		}
	}
	return list
}

// unknownTexts are the metrics, log messages and cases of the contract that the prose
// names and the code does not have.
func unknownTexts(p page) (list []string) {
	code, _ := sources()
	look := func(re *regexp.Regexp, text, before, after string) {
		for _, m := range re.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(code, before+m[1]+after) {
				list = append(list, m[1])
			}
		}
	}
	look(metric, p.prose, `"`, `"`)
	look(contract, p.prose, `"`, `"`)
	if _, events, ok := strings.Cut(p.prose, "\n## Log events\n"); ok {
		events, _, _ = strings.Cut(events, "\n## ")
		look(firstRow, events, `"`, `"`)
	}
	return list
}

func TestNames(t *testing.T) {
	t.Parallel()
	alerts, err := os.ReadFile(filepath.Join(root, "dashboards", "alerts.yml"))
	require.NoError(t, err)
	n := 0
	for _, p := range pages(t) {
		for _, name := range append(unknownTests(p.prose), unknownTexts(p)...) {
			t.Errorf("%s: %s is not there", p.name, name)
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

func TestNamesFindFaults(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"TestNope", "TestNope*"}, unknownTests("`TestNope` `TestNope*` `TestContract` `TestContr*` `TestFleet/*/killed`"))
	require.Equal(t, []string{"idworker_nope", "nope", "borrowed"},
		unknownTexts(page{prose: "`idworker_nope`, `idworker_ids_total`, contract: `nope`\n## Log events\n| `borrowed` |\n| `worker id borrowed` |\n## More\n| `nope` |"}))
}

// The table of the configuration has the keys of Config, no more, no fewer.
func TestConfigTable(t *testing.T) {
	t.Parallel()
	var keys []string
	config := reflect.TypeFor[idworker.Config]()
	for i := range config.NumField() {
		keys = append(keys, config.Field(i).Tag.Get("yaml"))
	}
	for _, name := range []string{"README.md", "README.zh-CN.md"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		_, table, found := strings.Cut(string(text), "| `namespace` |")
		require.True(t, found, "%s has no table of the configuration", name)
		table, _, _ = strings.Cut("| `namespace` |"+table, "\n\n")
		var told []string
		for _, m := range firstRow.FindAllStringSubmatch(table, -1) {
			told = append(told, m[1])
		}
		require.ElementsMatch(t, keys, told, "%s", name)
	}
}
