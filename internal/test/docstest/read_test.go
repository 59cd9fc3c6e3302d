package docstest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../../.."

// A page is one file of the documentation.
type page struct {
	name   string // relative to root
	prose  string // without blocks, which become blank lines
	blocks []block
}

// A block is a fenced block of code.
type block struct {
	lang, mark, text string
	line             int // of the fence
}

var (
	markLine = regexp.MustCompile(`^\s*<!-- docstest: (.*) -->$`)
	fence    = regexp.MustCompile("^\\s*```\\s*(\\S*)$")
)

func parsePage(name, text string) page {
	p := page{name: name}
	lines := strings.Split(text, "\n")
	var prose []string
	for i := 0; i < len(lines); i++ {
		prose = append(prose, lines[i])
		open := fence.FindStringSubmatch(lines[i])
		if open == nil {
			continue
		}
		b := block{lang: open[1], line: i + 1}
		if i > 0 {
			if m := markLine.FindStringSubmatch(lines[i-1]); m != nil {
				b.mark = m[1]
			}
		}
		indent := strings.Index(lines[i], "`")
		prose[i] = ""
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != "```"; i++ {
			prose = append(prose, "")
			b.text += strings.TrimPrefix(lines[i], strings.Repeat(" ", indent)) + "\n"
		}
		prose = append(prose, "")
		p.blocks = append(p.blocks, b)
	}
	p.prose = strings.Join(prose, "\n")
	return p
}

func pages(t *testing.T) []page {
	t.Helper()
	var list []page
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/design/*.md", "docs/zh-CN/*.md"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		for _, name := range names {
			if filepath.Base(name) == "CHANGELOG.md" {
				continue // it names what no longer exists
			}
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			rel, err := filepath.Rel(root, name)
			require.NoError(t, err)
			list = append(list, parsePage(filepath.ToSlash(rel), string(text)))
		}
	}
	require.Greater(t, len(list), 5, "where is the documentation?")
	return list
}

// each runs a check on every block of these languages. At least one such block must exist.
func each(t *testing.T, check func(t *testing.T, b block) error, langs ...string) {
	t.Helper()
	n := 0
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			for _, lang := range langs {
				if b.lang == lang {
					n++
					if err := check(t, b); err != nil {
						t.Errorf("%s:%d: %v", p.name, b.line, err)
					}
				}
			}
		}
	}
	require.Positive(t, n, "no block of %v", langs)
}

func TestLanguages(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"go": true, "yaml": true, "json": true, "sql": true, "sh": true, "console": true, "mermaid": true, "text": true}
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if !known[b.lang] {
				t.Errorf("%s:%d: the block is of no known language: %q", p.name, b.line, b.lang)
			}
			if b.lang == "mermaid" && strings.Contains(b.text, ";") {
				t.Errorf("%s:%d: a semicolon ends a statement of Mermaid, in a text too", p.name, b.line)
			}
		}
	}
}

func TestParsePage(t *testing.T) {
	t.Parallel()
	p := parsePage("x.md", "a `b`\n<!-- docstest: sqlite -->\n```sql\nSELECT 1;\n```\n\n  ```go\n  x()\n  ```\nend")
	require.Equal(t, []block{{"sql", "sqlite", "SELECT 1;\n", 3}, {"go", "", "x()\n", 7}}, p.blocks)
	require.Equal(t, "a `b`\n<!-- docstest: sqlite -->\n\n\n\n\n\n\n\nend", p.prose)
}
