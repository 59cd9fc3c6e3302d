package mutation_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// lists begin with those whose mutants take the longest, so that none is left alone at the end.
var lists = append([]list{onSQL, onSQLSegments, onSQLConn, onEtcd, onWorker, onSequence, onRedisSegments, onRules, onLimits, onHistories, onGenerator, onLayout, onKeeper, onRedis, onSegment, onPrefetch, onSeries, onLocal, onHistory, onDoor, onTakeover, onRecord, onParts, onPublicIDs}, spread...)

// TestEveryMutantIsKilled runs the killers without mutants, where they must pass, and
// on their mutants, where they must fail.
func TestEveryMutantIsKilled(t *testing.T) {
	for _, l := range lists {
		t.Run(l.title, func(t *testing.T) {
			t.Parallel()
			b := l.build(t, t.TempDir())
			var killers []string
			for _, m := range l.mutants {
				killers = append(killers, l.test(m.killer))
			}
			for tests := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(killers))), 10) { // in the two minutes of one mutant
				t.Run("the product, "+tests[0], func(t *testing.T) {
					t.Parallel()
					text, err := l.command(t, b, nil, pattern(tests...)).CombinedOutput()
					out := string(text)
					require.NoError(t, err, out)
					for _, test := range tests {
						require.True(t, strings.Contains(out, "--- PASS: "+test+" (") || leftOut(out, test), "there is a test %s", test)
					}
				})
			}
			for _, m := range l.mutants {
				t.Run(m.without, func(t *testing.T) {
					t.Parallel()
					t.Log("killed by " + l.test(m.killer))
					out := l.run(t, b, m)
					if leftOut(out, l.test(m.killer)) {
						t.Skip("left out: the killer is")
					}
					if !killed(out, l.test(m.killer)) {
						t.Errorf("%s of ./%s does not see that in %s\n%s\nis now\n%s\n%s", l.test(m.killer), l.pkg, m.file, m.rule, m.instead, out)
					}
				})
			}
		})
	}
}

// TestEveryRuleStands checks that each mutant's rule is in the code and that no mutant
// is listed twice.
func TestEveryRuleStands(t *testing.T) {
	t.Parallel()
	for _, l := range lists {
		seen := map[string]bool{}
		for _, m := range l.mutants {
			product, mutated := m.source(t)
			require.NotEqual(t, product, mutated)
			require.NotEmpty(t, m.killer)
			require.False(t, seen[m.without], "%s: %s", l.title, m.without)
			require.NotContains(t, m.without, "|", "it goes into a table")
			seen[m.without] = true
		}
		for _, loader := range l.loaders {
			_, _ = loader.source(t)
		}
	}
}

// TestKilled checks that only a test that fails by itself counts as a kill.
func TestKilled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		out  string
		want bool
	}{
		"failed":        {"--- FAIL: TestA (0.00s)\n    a_test.go:1: no\nFAIL\n", true},
		"failed within": {"--- FAIL: TestZ (0.00s)\n    --- FAIL: TestA (0.00s)\n", true},
		"another":       {"--- FAIL: TestAB (0.00s)\nFAIL\n", false},
		"passed":        {"ok  \tp\t0.1s\n", false},
		"not built":     {"# p\n./a.go:1:1: undefined: x\nFAIL\tp [build failed]\nFAIL\n", false},
		"panicked":      {"--- FAIL: TestA (0.00s)\npanic: index out of range [recovered]\n", false},
		"hung":          {"--- FAIL: TestA (0.00s)\npanic: test timed out after 1s\n", false},
		"crashed":       {"--- FAIL: TestA (0.00s)\nfatal error: all goroutines are asleep - deadlock!\n", false},
	} {
		require.Equal(t, c.want, killed(c.out, "TestA"), name)
	}
	require.Equal(t, `^TestA$/^b\.c$|^TestD$`, pattern("TestA/b.c", "TestD"))
	require.Equal(t, "TestContract/lease/a_b", list{killers: "TestContract/lease/"}.test("a b"))
}

var update = flag.Bool("update", false, "write the table of mutants into docs/design/proof.md")

// TestTable checks that the documentation has the right number of mutants for each
// list.
func TestTable(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- mutants: begin -->\n", "<!-- mutants: end -->"
	file := root(t, "docs/design/proof.md")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, begun := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	require.True(t, begun && ended, "the marks of the table are gone")
	want := before + begin + table() + end + after
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o600))
		return
	}
	require.True(t, want == string(text), "docs/design/proof.md does not count the mutants as they are: go -C proof test ./mutation -run TestTable -update")
}

// table returns a row for each list.
func table() string {
	var rows strings.Builder
	all := 0
	for _, l := range lists {
		all += len(l.mutants)
		fmt.Fprintf(&rows, "| %s | %d | [`%s`](../../%[3]s) |\n", l.title, len(l.mutants), l.pkg)
	}
	return fmt.Sprintf("| of | mutants | killed by the tests of |\n|---|--:|---|\n%s| all | %d | |\n", rows.String(), all)
}
