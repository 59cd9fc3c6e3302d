package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/snowlease/snowlease/bench/internal/peers"
)

//go:embed performance.md.tmpl
var page string

// write writes performance.md, the charts and the results into a folder.
func (r *Results) write(dir string) error {
	folder := filepath.Join(dir, "performance")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	runs, err := r.remember(filepath.Join(folder, "runs.json"))
	if err != nil {
		return err
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "results.json"), append(raw, '\n'), 0o644); err != nil {
		return err
	}
	if err := r.charts(folder); err != nil {
		return err
	}
	t, err := template.New("performance.md").Parse(page)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := t.Execute(&text, struct {
		*Results
		Reach string
	}{r, reach(runs)}); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "performance.md"), text.Bytes(), 0o644)
}

// A Run is what one run has reached.
type Run struct {
	Date, CPU, Go string
	Took          time.Duration
	Goals         []Goal
}

// remember adds the run to the file and returns the last three, the latest first.
func (r *Results) remember(file string) (runs []Run, err error) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &runs)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	run := Run{r.Date, r.CPU, r.Go, r.Took, r.Goals()}
	if len(runs) > 0 && runs[0].Date == run.Date && runs[0].CPU == run.CPU && runs[0].Took == run.Took { // it is the same
		runs[0] = run
	} else {
		runs = slices.Insert(runs, 0, run)
	}
	runs = runs[:min(3, len(runs))]
	text, err = json.MarshalIndent(runs, "", "\t")
	if err != nil {
		return nil, err
	}
	return runs, os.WriteFile(file, append(text, '\n'), 0o644)
}

// A table is Markdown; numbers stand at the right.
type table struct{ strings.Builder }

func newTable(left int, columns ...string) *table {
	t := &table{}
	t.row(columns...)
	t.WriteString("|" + strings.Repeat("---|", left) + strings.Repeat("--:|", len(columns)-left) + "\n")
	return t
}

func (t *table) row(cells ...string) { t.WriteString("| " + strings.Join(cells, " | ") + " |\n") }

func reach(runs []Run) string {
	columns := []string{"what", "at most", "last run", "", "run before", "", "run before that", ""}
	t := newTable(1, columns[:2+2*len(runs)]...)
	for _, goal := range runs[0].Goals {
		cells := []string{goal.What, goal.Limit}
		for _, run := range runs {
			measured, met := "", ""
			for _, g := range run.Goals {
				if g.What == goal.What && g.Limit == goal.Limit {
					measured, met = g.Measured, map[bool]string{true: "met", false: "**not met**"}[g.Met]
				}
			}
			cells = append(cells, measured, met)
		}
		t.row(cells...)
	}
	text := t.String() + "\n"
	for _, goal := range runs[0].Goals {
		if !goal.Met && goal.Obstacle != "" {
			text += fmt.Sprintf("- %s: %s.\n", goal.What, goal.Obstacle)
		}
	}
	return text
}

// Speeds is one id after the other.
func (r *Results) Speeds() string {
	t := newTable(2, "what", "setting", "ids/s of the layout", "serial, ns", "× floor", "2 cores, ns", "× floor", "allocations", "B")
	for _, m := range peers.All() {
		f := r.figure(m.String())
		if f.Serial.NS == nil {
			continue
		}
		t.row(bold(m, m.Name), m.Setting, allowed(m), spread(f.Serial.NS), number(f.Serial.ratio()), spread(f.Parallel.NS), number(f.Parallel.ratio()),
			whole(f.Serial.Allocs), whole(f.Serial.Bytes))
	}
	return t.String()
}

// allowed is how many ids a second the layout of m has.
func allowed(m peers.Maker) string {
	switch rate := m.Layout.PerSecond(); {
	case rate > 0:
		return millions(rate)
	case m.Bits > 0:
		return "no limit"
	}
	return ""
}

// Crowds is one id after the other by ever more goroutines.
func (r *Results) Crowds() string {
	goroutines, _ := crowds(r.Cores)
	return r.crowdsOf("goroutines", goroutines)
}

// MoreCores is one id after the other on ever more cores.
func (r *Results) MoreCores() string {
	_, processors := crowds(r.Cores)
	return r.crowdsOf("cores", processors)
}

func (r *Results) crowdsOf(of string, all []crowd) string {
	if len(all) == 0 || r.figure(peers.Generator).Crowds == nil {
		return ""
	}
	columns := []string{"what", "setting"}
	for _, c := range all {
		columns = append(columns, strings.TrimSuffix(fmt.Sprint(c.goroutines, " ", of), map[bool]string{true: "s"}[c.goroutines == 1]))
	}
	t := newTable(2, columns...)
	for _, name := range inCrowds() {
		m, err := peers.Named(name)
		crowds := r.figure(name).Crowds
		if err != nil || crowds == nil {
			continue
		}
		cells := []string{bold(m, m.Name), m.Setting}
		for _, c := range all {
			cells = append(cells, number(median(crowds[c.String()])))
		}
		t.row(cells...)
	}
	return t.String()
}

// Equal is those with 10 bits of worker and 12 of sequence.
func (r *Results) Equal() string {
	t := newTable(1, "what", "ids/s of the layout", "ids/s", "of what the layout has", "serial burst, ns", "2 cores, ns")
	for _, m := range peers.All() {
		f := r.figure(m.String())
		if m.Layout != peers.Equal || f.Steady.IDs == 0 {
			continue
		}
		rate := 1e9 / f.sustained()
		t.row(bold(m, m.Name), allowed(m), millions(rate), fmt.Sprintf("%.1f %%", 100*rate/m.Layout.PerSecond()),
			number(f.Serial.median()), number(f.Parallel.median()))
	}
	return t.String()
}

func bold(m peers.Maker, text string) string {
	if m.Kind == peers.Ours {
		return "**" + text + "**"
	}
	return text
}

// spread is the median with the least and the greatest.
func spread(vs []float64) string {
	if len(vs) == 0 {
		return ""
	}
	return fmt.Sprintf("%s (%s to %s)", number(median(vs)), number(slices.Min(vs)), number(slices.Max(vs)))
}

func whole(v float64) string { return fmt.Sprint(int64(math.Round(v))) }

// Fills is ids in batches.
func (r *Results) Fills() string {
	t := newTable(2, "what", "how", "10", "100", "1000", "10, 2 cores", "100, 2 cores", "1000, 2 cores")
	for _, name := range inBatches {
		m, err := peers.Named(name)
		if err != nil {
			continue
		}
		how := "a loop"
		switch {
		case m.Kind == peers.Floor:
			how = "numbers written to the slice"
		case m.Kind == peers.Ours || m.Bits == 160:
			how = "one call"
		}
		cells := []string{bold(m, name), how}
		for _, of := range []func(*Batch) []float64{
			func(b *Batch) []float64 { return b.Serial }, func(b *Batch) []float64 { return b.Parallel },
		} {
			for _, size := range sizes {
				cells = append(cells, number(median(of(r.batch(name, size)))))
			}
		}
		t.row(cells...)
	}
	return t.String()
}

// Throughput is the sentence that the page begins with.
func (r *Results) Throughput() string {
	f := r.figure(peers.IDWorker)
	if f.Steady.IDs == 0 {
		return ""
	}
	return fmt.Sprintf("One goroutine makes **%s ids a second** by an `*IdWorker` of the default layout, for as long as it asks: %s ns an id.", millions(1e9/f.sustained()), number(f.sustained()))
}

// Sustained returns a table of the speeds after the first second.
func (r *Results) Sustained() string {
	t := newTable(2, "what", "setting", "ids/s of the layout", "ids/s", "ns an id", "least ids in 0.1 s", "most", "out of order")
	for _, m := range peers.All() {
		f := r.figure(m.String())
		s := f.Steady
		if s.IDs == 0 {
			continue
		}
		t.row(bold(m, m.Name), m.Setting, allowed(m), millions(1e9/f.sustained()), number(f.sustained()),
			fmt.Sprint(slices.Min(s.Windows)), fmt.Sprint(slices.Max(s.Windows)), disorder(m, s.Disorder))
	}
	return t.String()
}

// disorder is how many ids were not greater than the one before.
func disorder(m peers.Maker, n int64) string {
	switch {
	case m.Rises:
		return fmt.Sprint(n)
	case m.ByTime:
		return "no numbers"
	}
	return "no order"
}

func millions(v float64) string { return number(v/1e6) + " million" }

// Latencies is single calls under a condition.
func (r *Results) Latencies(condition string) string {
	t := newTable(2, "what", "setting", "p50", "p99", "p99.9", "p99.99", "longest", "stalls/s", "ids/s")
	for _, m := range peers.All() {
		s, ok := r.figure(m.String()).Latency[condition]
		if !ok {
			continue
		}
		name := m.Name
		if name == peers.TimerOnly {
			name = "nothing: the clock of the measurement"
		}
		l := s.Latencies
		t.row(bold(m, name), m.Setting, duration(l.P50), duration(l.P99), duration(l.P999), duration(l.P9999), duration(l.Max), whole(l.Stalls), millions(1e9/s.NS))
	}
	return t.String()
}

// duration shows nanoseconds in the unit that suits.
func duration(ns float64) string {
	switch {
	case ns < 1e3:
		return number(ns) + " ns"
	case ns < 1e6:
		return number(ns/1e3) + " µs"
	}
	return number(ns/1e6) + " ms"
}

// Bursts is the first ids after idleness, and single ones after them.
func (r *Results) Bursts() string {
	t := newTable(2, "what", "setting", "first 0.1 s", "to the end of the burst, each 0.1 s", "then p50", "p99", "longest")
	for _, m := range peers.All() {
		b := r.figure(m.String()).Burst
		if len(b.Windows) == 0 {
			continue
		}
		var rest float64
		if n := len(b.Windows) - 1; n > 0 {
			for _, w := range b.Windows[1:] {
				rest += float64(w) / float64(n)
			}
		}
		t.row(bold(m, m.Name), m.Setting, fmt.Sprint(b.Windows[0]), whole(rest), duration(b.Latencies.P50), duration(b.Latencies.P99), duration(b.Latencies.Max))
	}
	return t.String()
}

// Uniques returns a table of the ids that were compared with one another.
func (r *Results) Uniques() string {
	t := newTable(2, "what", "setting", "ids by 2 goroutines", "by 16", "equal", "out of order in a goroutine")
	for _, m := range peers.All() {
		var made []string
		var equal, disordered int64
		for _, s := range r.figure(m.String()).Unique {
			made = append(made, fmt.Sprint(s.IDs))
			equal += s.Duplicates
			disordered += s.Disorder
		}
		if len(made) != len(together) {
			continue
		}
		t.row(bold(m, m.Name), m.Setting, made[0], made[1], fmt.Sprint(equal), disorder(m, disordered))
	}
	return t.String()
}

// Centers is what the verbs of centers take.
func (r *Results) Centers() string {
	t := newTable(1, "center", "borrow", "round trips", "renew", "round trips", "give back", "round trips")
	for _, name := range []string{"Redis", "MariaDB", "PostgreSQL", "SQLite"} {
		l := r.Path["Center/"+name]
		if l == nil {
			continue
		}
		trips := func(verb string) string {
			if n, ok := l[verb+"-trips"]; ok {
				return fmt.Sprint(n)
			}
			return "none: a library"
		}
		t.row(name, number(l["borrow-ms"])+" ms", trips("borrow"), number(l["renew-ms"])+" ms", trips("renew"), number(l["return-ms"])+" ms", trips("return"))
	}
	return t.String()
}

// Renewals is what a renewal takes of small and large pools.
func (r *Results) Renewals() string {
	if r.Path["RenewPool/Redis"] == nil {
		return ""
	}
	t := newTable(1, "center", "pool of 32", "pool of 1,024", "ratio", "round trips")
	for _, name := range []string{"Redis", "MariaDB", "PostgreSQL"} {
		if l := r.Path["RenewPool/"+name]; l != nil {
			t.row(name, number(l["renew-32-ms"])+" ms", number(l["renew-1024-ms"])+" ms", number(l["ratio"]), fmt.Sprint(l["trips"]))
		}
	}
	return t.String()
}

// program says what a program of the folder programs is, and which store it asks.
var program = []struct{ name, what, store string }{
	{"hello", "a program that prints a number", ""},
	{"core", "**snowlease**, its generator alone: a worker id by hand", ""},
	{"redis", "**snowlease**, `snowlease.Open`", "Redis"},
	{"mysql", "**snowlease**, `snowlease.Open`", "MySQL"},
	{"postgres", "**snowlease**, `snowlease.Open`", "PostgreSQL"},
	{"sqlite", "**snowlease**, `snowlease.Open`", "SQLite"},
	{"openredis", "**snowlease**, `idworker.Open`", "Redis"},
	{"opencenter", "**snowlease**, `idworker.Open`", "MySQL"},
	{"openmysql", "**snowlease**, `idworker.Open`", "MySQL by GORM"},
	{"openpostgres", "**snowlease**, `idworker.Open`", "PostgreSQL by GORM"},
	{"opensqlite", "**snowlease**, `idworker.Open`", "SQLite by GORM"},
	{"fxredis", "**snowlease**, `idworker.Module` with fx", "Redis"},
	{"fxmysql", "**snowlease**, `idworker.Module` with fx", "MySQL by GORM"},
	{"goredis", "go-redis alone, for comparison", "Redis"},
	{"gormmysql", "GORM alone, for comparison", "MySQL by GORM"},
	{"bwmarrin", "bwmarrin/snowflake", ""},
	{"sonyflake", "sony/sonyflake/v2", ""},
	{"yitter", "yitter/idgenerator-go", ""},
	{"yitterredis", "yitter/idgenerator-go", "Redis"},
	{"godruoyi", "godruoyi/go-snowflake", ""},
	{"wuid", "edwingeng/wuid", ""},
	{"xid", "rs/xid", ""},
	{"uuid", "google/uuid", ""},
	{"ulid", "oklog/ulid/v2", ""},
	{"ksuid", "segmentio/ksuid", ""},
}

// Programs is what a program takes on.
func (r *Results) Programs() string {
	if r.Path["Program/hello"] == nil {
		return "" // a quick run
	}
	t := newTable(2, "program", "store", "start to first id", "binary", "modules in it")
	for _, p := range program {
		if l := r.Path["Program/"+p.name]; l != nil {
			t.row(p.what, p.store, number(l["first-id-ms"])+" ms", fmt.Sprintf("%.1f MiB", l["MiB"]), whole(l["modules"]))
		}
	}
	return t.String()
}

// Memory is what one more of each keeps.
func (r *Results) Memory() string {
	t := newTable(1, "what", "bytes", "goroutines")
	for _, name := range []string{"Generator", "IdWorker, fixed", "IdWorker with a lease", "bwmarrin/snowflake", "sony/sonyflake/v2", "yitter/idgenerator-go"} {
		if l := r.Path["Memory/"+strings.ReplaceAll(name, " ", "_")]; l != nil {
			t.row(name, whole(l["bytes"]), whole(l["goroutines"]))
		}
	}
	return t.String()
}

// ways of bench/gorm to get keys into rows.
var ways = []string{"gormplugin", "AUTO_INCREMENT", "hook bwmarrin", "next bwmarrin"}

// InsertsOf is µs a row of whole INSERTs.
func (r *Results) InsertsOf() string {
	t := newTable(2, "database", "keys", "1 row", "100 rows", "1,000 rows")
	for _, db := range []string{"SQLite", "MariaDB", "MySQL", "PostgreSQL"} {
		for _, way := range ways {
			cells := []string{db, way}
			for _, n := range []int{1, 100, 1000} {
				if l := r.Inserts[fmt.Sprintf("Insert/%s/%d_rows/%s", db, n, strings.ReplaceAll(way, " ", "_"))]; l != nil {
					cells = append(cells, number(l["ns/row"]/1e3))
				}
			}
			if len(cells) > 2 {
				t.row(cells...)
			}
		}
	}
	return t.String()
}

// Keys is ns a row of making the keys alone.
func (r *Results) Keys() string {
	t := newTable(1, "keys", "ns a row", "allocations a statement")
	for _, way := range ways {
		if l := r.Inserts["Keys/1000_rows/"+strings.ReplaceAll(way, " ", "_")]; l != nil {
			t.row(way, number(l["ns/row"]), whole(l["allocs/op"]))
		}
	}
	return t.String()
}
