package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	if child() {
		return
	}
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0") // of some hundred processes
	os.Exit(m.Run())
}

// TestReport: every sample can be taken, and the report has a line of each maker.
func TestReport(t *testing.T) {
	p := plan{
		rounds: 1, speed: time.Millisecond, batch: time.Millisecond, crowd: time.Millisecond, pair: time.Millisecond, paced: time.Millisecond,
		steady: 100 * time.Millisecond, latency: time.Millisecond, burst: 200 * time.Millisecond, unique: time.Millisecond,
		pairs: 1, latencies: 1, batches: 1, crowds: 1,
	}
	results, err := p.run(t.Context(), t.Output())
	require.NoError(t, err)
	dir := t.TempDir()
	for range 2 { // the second is the same run
		require.NoError(t, results.write(dir))
	}
	text, err := os.ReadFile(filepath.Join(dir, "performance.md"))
	require.NoError(t, err)
	for _, f := range results.Figures {
		require.NotEmpty(t, f.Serial.NS, f.Maker)
	}
	for _, fault := range []string{"NaN", "Inf", "%!", "<no value>", "run before"} {
		require.NotContains(t, string(text), fault)
	}
	require.Equal(t, len(results.Goals()), strings.Count(string(text), "met** |")+strings.Count(string(text), " met |"))
	for _, chart := range []string{"speed", "latency", "sustained"} {
		svg, err := os.ReadFile(filepath.Join(dir, "performance", chart+".svg"))
		require.NoError(t, err)
		require.Contains(t, string(svg), "</svg>")
	}
}

// The page begins with the sentence of its results.
func TestThroughput(t *testing.T) {
	raw, err := os.ReadFile("../../../docs/design/performance/results.json")
	require.NoError(t, err)
	var r Results
	require.NoError(t, json.Unmarshal(raw, &r))
	text, err := os.ReadFile("../../../docs/design/performance.md")
	require.NoError(t, err)
	require.NotEmpty(t, r.Throughput())
	require.True(t, strings.HasPrefix(string(text), "# Performance\n\n"+r.Throughput()+"\n"))
}

// The figures that the comparison quotes agree with the report.
func TestComparison(t *testing.T) {
	text, err := os.ReadFile("../../../docs/design/performance.md")
	require.NoError(t, err)
	_, report, found := strings.Cut(string(text), "\n## Sustained\n")
	require.True(t, found)
	comparison, err := os.ReadFile("../../../docs/why.md")
	require.NoError(t, err)
	// cell is the n-th cell from the end of the only line that begins so.
	cell := func(text, row string, n int) string {
		_, rest, found := strings.Cut(text, "\n| "+row+" |")
		require.True(t, found, row)
		line, _, _ := strings.Cut(rest, "\n")
		cells := strings.Split(line, "|")
		return strings.TrimSpace(cells[len(cells)-1-n])
	}
	for theirs, ours := range map[string]string{
		"**snowlease**, default": "**snowlease Generator** | default: 5 worker and 17 sequence bits",
		"**snowlease**, `wide`":  "**snowlease Generator** | Twitter's 10 worker and 12 sequence bits",
		"bwmarrin/snowflake":     "bwmarrin/snowflake | default: 10 node and 12 step bits",
		"sonyflake v2":           "sony/sonyflake/v2 | default: 10 ms, 16 machine and 8 sequence bits",
		"yitter":                 "yitter/idgenerator-go | default: 6 worker and 6 sequence bits",
		"wuid":                   "edwingeng/wuid | default and best: no time in it",
		"randflake":              "randflake | default and best: 1 s, 17 node and 17 sequence bits, encrypted",
		"UUIDv7 of google/uuid":  "google/uuid v7 | default",
	} {
		_, generators, _ := strings.Cut(string(comparison), "\n## Generators in Go\n")
		require.Equal(t, cell(report, ours, 4), cell(generators, theirs, 1), theirs)
	}
	best := cell(report, "bwmarrin/snowflake | best: 5 node and 17 step bits", 4)
	require.Contains(t, string(comparison), "With the default's 5 and 17 bits bwmarrin takes "+best+" ns")
}

// Each figure in the tables of the page for users stands in the report, in a line of the same thing.
func TestPageForUsers(t *testing.T) {
	report, err := os.ReadFile("../../../docs/design/performance.md")
	require.NoError(t, err)
	page, err := os.ReadFile("../../../docs/performance.md")
	require.NoError(t, err)
	figures := func(line string) []string {
		var list []string
		for _, cell := range strings.Split(line, "|") {
			cell, _, _ = strings.Cut(strings.TrimSpace(cell), " (") // the spread
			list = append(list, strings.Split(strings.TrimSuffix(cell, " million"), ", ")...)
		}
		return list
	}
	for row, sources := range map[string][]string{
		"**snowlease**, a worker":     {"**snowlease *IdWorker** | default |"},
		"bwmarrin/snowflake, default": {"bwmarrin/snowflake | default: 10 node and 12 step bits |"},
		"UUIDv7 of google/uuid":       {"google/uuid v7 | default |"},
		"Redis":                       {"Redis | 0"}, "MariaDB": {"MariaDB | 1"}, "PostgreSQL": {"PostgreSQL | 2"},
	} {
		var known []string
		for line := range strings.Lines(string(report)) {
			for _, source := range sources {
				if strings.HasPrefix(line, "| "+source) {
					known = append(known, figures(line)...)
				}
			}
		}
		_, line, found := strings.Cut(string(page), "\n| "+row+" |")
		require.True(t, found, row)
		line, _, _ = strings.Cut(line, "\n")
		require.Subset(t, known, figures(line), row)
	}
}
