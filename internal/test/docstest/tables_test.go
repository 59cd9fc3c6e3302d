package docstest

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/hostseq"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/snowflake"
)

// rows returns the cells of the table on a page whose first row begins with first.
func rows(t *testing.T, name, first string) (table [][]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "\n| "+first+" |")
	require.True(t, found, "%s: no table begins with %s", name, first)
	rest, _, _ = strings.Cut("| "+first+" |"+rest, "\n\n")
	for line := range strings.Lines(rest) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		table = append(table, cells)
	}
	return table
}

// TestDefaultsTable checks that the configuration tables have the keys of the code
// with their defaults, in the order of the code except for segments.
func TestDefaultsTable(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"preset": "default", "holder": "program@host:pid", "max_ahead": fmt.Sprint(generator.DefaultMaxAhead), "local.max_behind": strings.TrimSuffix(fmt.Sprint(hostseq.DefaultMaxBehind), "0s"),
	}
	config := idworker.Config{Namespace: "orders"}.WithDefaults()
	var keys []string
	var walk func(v reflect.Value, prefix string)
	walk = func(v reflect.Value, prefix string) {
		for i := range v.NumField() {
			key := prefix + v.Type().Field(i).Tag.Get("yaml")
			switch key {
			case "lease", "store", "local", "sequence":
				walk(v.Field(i), key+".")
				continue
			}
			keys = append(keys, key)
			if want[key] == "" {
				want[key] = fmt.Sprint(v.Field(i).Interface())
			}
		}
	}
	walk(reflect.ValueOf(config), "")
	const name = "docs/configuration.md"
	var told []string
	n := 0
	for _, first := range []string{"namespace", "lease.ttl", "store.skew", "local.source", "sequence.worker"} {
		for _, row := range rows(t, name, "`"+first+"`") {
			key, shown := strings.Trim(row[0], "`"), row[1]
			told = append(told, key)
			value, code := strings.CutPrefix(shown, "`")
			value, closed := strings.CutSuffix(value, "`")
			if code && closed && !strings.Contains(value, "`") || shown != "" && strings.Trim(shown, "0123456789") == "" { // other values are prose
				n++
				require.Equal(t, want[key], value, "%s: %s; an empty default is an empty cell", name, key)
			}
		}
	}
	require.ElementsMatch(t, keys, told, "list A has the keys of Config, list B those of %s", name)
	require.GreaterOrEqual(t, n, 20, name)
}

// TestPresetTable checks that the table of presets has the layouts of the code.
func TestPresetTable(t *testing.T) {
	t.Parallel()
	for _, row := range rows(t, "docs/configuration.md", "`default`") {
		l, err := snowflake.Preset(strings.Trim(row[0], "`"))
		require.NoError(t, err)
		require.Contains(t, l.String(), "bits="+row[1])
		day, zone, _ := strings.Cut(row[2], " ")
		epoch, err := time.Parse("2006-01-02 -07:00", day+" "+cmp.Or(zone, "+00:00"))
		require.NoError(t, err)
		require.WithinRange(t, time.UnixMilli(l.Epoch), epoch, epoch.AddDate(0, 0, 1).Add(-1), row[0])
		require.Equal(t, thousands(l.Workers()), row[3], row[0])
		require.Equal(t, thousands(l.PerTick())+" per ms", row[4], row[0])
		ends := fmt.Sprint(l.Ends().UTC().Year())
		if l.Bits() <= 53 {
			ends += ", all below 2^53"
		}
		require.Equal(t, ends, row[5], row[0])
	}
}

// TestLoadTable checks that the figures of load on the page for users are those of the benchmark.
func TestLoadTable(t *testing.T) {
	t.Parallel()
	figures := rows(t, "docs/design/proof.md", "redis | 1,000 start at once")
	for _, row := range rows(t, "docs/performance.md", "| 1,000 start at once")[2:] {
		want := []string{row[0]}
		for _, cell := range []struct {
			load   string
			column int
		}{{"1,000 start at once", 2}, {"1,024 hold", 10}, {"1,000 recover", 2}, {"1,024 renew", 3}} {
			for _, f := range figures {
				if f[0] == strings.ToLower(row[0]) && strings.HasPrefix(f[1], cell.load) {
					want = append(want, f[cell.column])
				}
			}
		}
		require.Equal(t, want, row)
	}
}

func thousands(n int64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// TestYears checks the years of 41 bits of 1 ms, of another bit, and of a unit twice as long.
func TestYears(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs", "configuration.md"))
	require.NoError(t, err)
	years := func(bits uint8, unit time.Duration) float64 {
		l := snowflake.Layout{Epoch: 1, TimeUnit: unit, TimeBits: bits}
		return float64(l.Ends().UnixMilli()) / 1000 / 86400 / 365.25
	}
	one := years(41, time.Millisecond)
	require.Contains(t, string(text), fmt.Sprintf(" 41 bits of 1 ms last %.1f years;", one))
	require.InEpsilon(t, 2*one, years(42, time.Millisecond), 0.001)
	require.InEpsilon(t, 2*one, years(41, 2*time.Millisecond), 0.001)
}
