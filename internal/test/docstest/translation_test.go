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

// bones is what a translation has in common with the original: blocks without their
// comments, files that are linked to, headings, items and rows of tables, code.
func bones(p page) map[string][]string {
	b := map[string][]string{}
	for _, block := range p.blocks {
		b["blocks"] = append(b["blocks"], block.lang+"\n"+remark.ReplaceAllString(block.text, ""))
	}
	for _, m := range link.FindAllStringSubmatch(p.prose, -1) {
		file, _, _ := strings.Cut(m[1], "#")
		if !strings.HasPrefix(path.Base(file), "README") {
			b["links"] = append(b["links"], file)
		}
	}
	for line := range strings.Lines(p.prose) {
		for _, mark := range []string{"# ", "## ", "### ", "- ", "1. ", "2. ", "3. ", "4. ", "|"} {
			if strings.HasPrefix(line, mark) {
				b["lines"] = append(b["lines"], mark)
			}
		}
	}
	b["code"] = regexp.MustCompile("`[^`\n]+`").FindAllString(p.prose, -1)
	slices.Sort(b["code"]) // a language has an order of its own
	return b
}

// A translation is as long as the original.
func TestTranslation(t *testing.T) {
	t.Parallel()
	found := map[string]page{}
	for _, p := range pages(t) {
		found[p.name] = p
	}
	original, translation := bones(found["README.md"]), bones(found["README.zh-CN.md"])
	for _, what := range []string{"blocks", "links", "lines", "code"} {
		require.NotEmpty(t, original[what])
		require.Equal(t, original[what], translation[what], "%s of README.zh-CN.md", what)
	}
}
