package generator

import (
	"bytes"
	"os/exec"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/snowlease/snowlease/internal/test/limit"

	"github.com/stretchr/testify/require"
)

// TestCodeOfTheFastPath checks the machine code of an id at a high rate: it has one
// atomic instruction, calls nothing but a test hook, and stays below a number of
// instructions that leaves other compilers some room.
func TestCodeOfTheFastPath(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the test knows only amd64 instructions")
	}
	listing, err := exec.CommandContext(limit.Compiling(t), "go", "build", "-gcflags=-S", ".").CombinedOutput()
	require.NoError(t, err, "%s", listing)
	instruction := regexp.MustCompile(`^\t0x[0-9a-f]+ \d+ \(\S+\)\t([A-Z]+[A-Z0-9]*)\t?(.*)$`)
	of := map[string][]string{} // by function
	name := ""
	for line := range bytes.Lines(listing) {
		text := strings.TrimRight(string(line), "\n")
		if before, _, ok := strings.Cut(text, " STEXT"); ok {
			name = before[strings.LastIndex(before, "/")+1:]
		}
		if m := instruction.FindStringSubmatch(text); m != nil && m[1] != "PCDATA" && m[1] != "FUNCDATA" {
			of[name] = append(of[name], m[1]+" "+m[2])
		}
	}
	count := func(prefix string, functions ...string) (n int) {
		for _, f := range functions {
			require.NotEmpty(t, of[f], f)
			for _, i := range of[f] {
				if strings.HasPrefix(i, prefix) {
					n++
				}
			}
		}
		return n
	}
	const next, wrapper = "generator.(*Generator).next", "generator.(*Generator).NextID"
	path := []string{next, wrapper}
	require.Equal(t, 1, count("LOCK ", path...), "atomic instructions that write")
	require.Zero(t, count("XCHGQ ", path...), "atomic instructions that write")
	for _, f := range path {
		for _, i := range of[f] {
			if target, isCall := strings.CutPrefix(i, "CALL "); isCall {
				require.Regexp(t, `^([A-Z0-9]+|.*runtime\.morestack.*|.*\(\*Generator\)\.(turn|oneByClock|next|nextSlow)\(SB\))$`, target, f)
			}
		}
	}
	require.LessOrEqual(t, count("", path...), 140)
	t.Logf("%d instructions in all branches together", count("", path...))
}

// What every id or every tick writes shares no cache line with what every id reads.
func TestCacheLines(t *testing.T) {
	const line = 64
	var g Generator
	read := unsafe.Offsetof(g.term) + unsafe.Sizeof(g.term)
	last := unsafe.Offsetof(g.last)
	counters := min(unsafe.Offsetof(g.skipped), unsafe.Offsetof(g.issued), unsafe.Offsetof(g.waits))
	require.GreaterOrEqual(t, last-read, uintptr(line))
	require.GreaterOrEqual(t, counters-last, uintptr(line))
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Generator]()) {
		if f.Offset > last && f.Name != "_" {
			require.Contains(t, []string{"skipped", "issued", "waits"}, f.Name, "a field that is read stands among those that are written")
		}
	}
}
