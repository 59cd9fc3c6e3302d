package peers_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/bench/internal/peers"
)

// TestSources checks that each source makes unique ids, ascending if Rises is set.
// Each runs in a process of its own, for the sake of settings in package variables.
func TestSources(t *testing.T) {
	name := os.Getenv("SNOWLEASE_BENCH_MAKER")
	if name == "" {
		for _, m := range peers.All() {
			t.Run(m.String(), func(t *testing.T) {
				t.Parallel()
				cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSources$")
				cmd.Env = append(os.Environ(), "SNOWLEASE_BENCH_MAKER="+m.String(), "GORACE=atexit_sleep_ms=0")
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			})
		}
		return
	}
	m, err := peers.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := check(m); err != nil {
		t.Fatal(err)
	}
}

func check(m peers.Maker) error {
	s, err := m.Open()
	if err != nil {
		return err
	}
	s = s.Mine()
	s.Loop(10)
	ids := make([]int64, 1000)
	for i := range ids[:500] {
		ids[i] = s.Next()
	}
	s.Fill(ids[500:])
	seen := map[int64]bool{}
	for i, id := range ids {
		if m.Rises && i > 0 && id <= ids[i-1] {
			return fmt.Errorf("%d follows %d", id, ids[i-1])
		}
		if m.Bits > 0 && seen[id] {
			return fmt.Errorf("%d was made twice", id)
		}
		seen[id] = true
	}
	return nil
}

// TestBlocks: the report has the code that is measured; its ids ascend for one goroutine,
// and not for two together.
func TestBlocks(t *testing.T) {
	code, err := os.ReadFile("ours.go")
	require.NoError(t, err)
	report, err := os.ReadFile("../../cmd/performance/performance.md.tmpl")
	require.NoError(t, err)
	_, shown, _ := strings.Cut(string(report), "```go\n")
	shown, _, found := strings.Cut(shown, "```")
	require.True(t, found)
	require.Contains(t, string(code), shown)

	m, err := peers.Named(peers.Blocks)
	require.NoError(t, err)
	s, err := m.Open()
	require.NoError(t, err)
	one, other := s.Mine(), s.Mine()
	first, later, last := one.Next(), other.Next(), one.Next()
	require.IsIncreasing(t, []int64{first, last, later})
}
