package docstest

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var remark = regexp.MustCompile(`(?m)\s*(?://|#).*$|\s*/\*.*?\*/`)

// bones returns what a translation shares with the original: blocks without comments,
// linked files, headings, list items, table rows and code.
func bones(p page) map[string][]string {
	b := map[string][]string{}
	for _, block := range p.blocks {
		b["blocks"] = append(b["blocks"], block.lang+"\n"+remark.ReplaceAllString(block.text, ""))
	}
	for _, m := range link.FindAllStringSubmatch(p.prose, -1) {
		file, _, _ := strings.Cut(m[1], "#")
		if file != "" && !strings.Contains(file, "://") {
			file = original(path.Join(path.Dir(p.name), file))
		}
		b["links"] = append(b["links"], file)
	}
	for line := range strings.Lines(p.prose) {
		for _, mark := range []string{"# ", "## ", "### ", "- ", "1. ", "2. ", "3. ", "4. ", "|"} {
			if strings.HasPrefix(line, mark) {
				b["lines"] = append(b["lines"], mark)
			}
		}
	}
	b["code"] = regexp.MustCompile("`[^`\n]+`").FindAllString(p.prose, -1)
	slices.Sort(b["code"]) // each language has its own word order
	return b
}

// original returns the name of the page that this page translates, or its own name.
func original(name string) string {
	if name == "README.zh-CN.md" {
		return "README.md"
	}
	return strings.Replace(name, "docs/zh-CN/", "docs/", 1)
}

// TestTranslation checks that a translation has the structure of the original and
// links to other translations.
func TestTranslation(t *testing.T) {
	t.Parallel()
	found, translations := map[string]page{}, map[string]string{}
	for _, p := range pages(t) {
		found[p.name] = p
		if name := original(p.name); name != p.name {
			translations[name] = p.name
		}
	}
	for _, name := range []string{"README.md", "docs/guide.md", "docs/engines.md", "docs/numbers.md", "docs/on-call.md", "docs/why.md", "docs/publicid.md"} {
		require.Contains(t, translations, name)
	}
	for name, translation := range translations {
		want, got := bones(found[name]), bones(found[translation])
		require.NotEmpty(t, want["links"], name)
		require.NotEmpty(t, want["lines"], name)
		for _, what := range []string{"blocks", "links", "lines", "code"} {
			require.Equal(t, want[what], got[what], "%s of %s", what, translation)
		}
		for i, m := range link.FindAllStringSubmatch(found[translation].prose, -1) {
			file, _, _ := strings.Cut(m[1], "#")
			file = path.Join(path.Dir(translation), file)
			if i > 0 && translations[file] != "" { // the first link leads to the original
				t.Errorf("%s leads to %s: there is %s", translation, file, translations[file])
			}
		}
	}
}
