package main

import (
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
		rounds: 1, speed: time.Millisecond, batch: time.Millisecond, pair: time.Millisecond, steady: 100 * time.Millisecond,
		latency: time.Millisecond, burst: 200 * time.Millisecond, unique: time.Millisecond, pairs: 1, latencies: 1, batches: 1,
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

func TestParse(t *testing.T) {
	l := parse([]byte(`goos: linux
BenchmarkInsert/SQLite/1_rows/gormplugin-2   	     100	    200 ns/op	  30.0 ns/row
BenchmarkInsert/SQLite/1_rows/gormplugin-2   	     100	    300 ns/op	  50.0 ns/row
BenchmarkInsert/SQLite/1_rows/gormplugin-2   	     100	    900 ns/op	  90.0 ns/row
PASS
`))
	require.Equal(t, Lines{"Insert/SQLite/1_rows/gormplugin": {"ns/op": 300, "ns/row": 50}}, l)
}
