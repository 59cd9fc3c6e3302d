package chaos

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// results are the outcome of the stages of a run.
type results struct {
	t    *testing.T
	seed uint64

	mu     sync.Mutex
	stages []*stage
	all    []*verdict
}

func newResults(t *testing.T) *results {
	r := &results{t: t, seed: *seed}
	if r.seed == 0 {
		r.seed = rand.Uint64N(1 << 32)
	}
	t.Logf("-chaos.seed=%d", r.seed)
	return r
}

func (r *results) add(s *stage, v *verdict) {
	r.mu.Lock()
	r.stages, r.all = append(r.stages, s), append(r.all, v)
	r.mu.Unlock()
	s.Logf("%s", table([]*stage{s}, []*verdict{v}))
}

// write writes the report, if the flags ask for one.
func (r *results) write() {
	r.t.Helper()
	if *reportTo == "" || len(r.stages) == 0 {
		return
	}
	flags := fmt.Sprintf("-chaos.duration=%v -chaos.seed=%d", *duration, r.seed)
	if *losses > 1 {
		flags += fmt.Sprintf(" -chaos.losses=%d", *losses)
	}
	if *old != "" {
		flags += " -chaos.old=" + *old
	}
	if *only != "" {
		flags += fmt.Sprintf(" -chaos.only='%s'", *only)
	}
	text := fmt.Sprintf("    cd proof/chaos && go test -count=1 -v -timeout 0 -run '%s' . %s\n\n"+
		"%s. %d processes at a time for %d worker ids, TTL %v, skew %v.\n\n%s",
		flag.Lookup("test.run").Value, flags, time.Now().UTC().Format(time.DateOnly), *size, workers, ttl, skew, table(r.stages, r.all))
	require.NoError(r.t, os.WriteFile(*reportTo, []byte(text), 0o644))
}

// table has a column for each stage.
func table(stages []*stage, all []*verdict) string {
	var b strings.Builder
	row := func(name string, cell func(i int) string) {
		fmt.Fprintf(&b, "| %s |", name)
		for i := range stages {
			fmt.Fprintf(&b, " %s |", cell(i))
		}
		b.WriteByte('\n')
	}
	number := func(name string, of func(s *stage, v *verdict) int64) {
		row(name, func(i int) string { return grouped(of(stages[i], all[i])) })
	}
	row("", func(i int) string { return stages[i].name })
	row("-", func(int) string { return "-:" })
	row("time under faults", func(i int) string { return stages[i].took.Round(time.Second).String() })
	number("**ids**", func(_ *stage, v *verdict) int64 { return v.ids })
	number("**issued twice**", func(_ *stage, v *verdict) int64 { return v.duplicates })
	number("**outside of what their process was lent**", func(_ *stage, v *verdict) int64 { return v.outside })
	number("**out of order within a process**", func(_ *stage, v *verdict) int64 { return v.falling })
	number("**grants that overlap**", func(_ *stage, v *verdict) int64 { return v.shared })
	for _, name := range slices.Compact(slices.Sorted(slices.Values(streams))) {
		if total(all, func(v *verdict) int64 { return v.streams[name] }) > 0 {
			number("numbers of "+string(name), func(_ *stage, v *verdict) int64 { return v.streams[name] })
		}
	}
	if slices.ContainsFunc(all, func(v *verdict) bool { return v.streams != nil }) {
		number("**out of strict order across processes**", func(_ *stage, v *verdict) int64 { return v.disordered })
	}
	number("runs of consecutive ids", func(_ *stage, v *verdict) int64 { return v.runs })
	number("processes", func(_ *stage, v *verdict) int64 { return int64(v.processes) })
	if *old != "" {
		number("processes of the other version", func(s *stage, _ *verdict) int64 { return s.old.Load() })
	}
	number("processes killed", func(s *stage, _ *verdict) int64 { return s.killed.Load() })
	number("processes stopped and continued", func(s *stage, _ *verdict) int64 { return s.stopped.Load() })
	number("processes replaced by one with a greater max_ttl", func(s *stage, _ *verdict) int64 { return s.raised.Load() })
	number("processes replaced by one with a lesser max_ttl", func(s *stage, _ *verdict) int64 { return s.lowered.Load() })
	number("losses of some records", func(s *stage, _ *verdict) int64 { return int64(s.parts) })
	number("grants", func(_ *stage, v *verdict) int64 { return int64(v.grants) })
	number("renewals", func(_ *stage, v *verdict) int64 { return int64(v.renewals) })
	number("given back", func(_ *stage, v *verdict) int64 { return int64(v.givenBack) })
	number("leases lost", func(_ *stage, v *verdict) int64 { return v.calls[lost] })
	span := func(name string, of func(v *verdict) time.Duration) {
		if slices.ContainsFunc(all, func(v *verdict) bool { return of(v) > 0 }) {
			row(name, func(i int) string { return of(all[i]).Round(time.Millisecond).String() })
		}
	}
	number("losses after which nothing else was done to the servers until a range was lent", func(_ *stage, v *verdict) int64 { return int64(len(v.waits)) })
	span("from there to that range: median", func(v *verdict) time.Duration { return v.wait(len(v.waits) / 2) })
	span("from there to that range: longest", func(v *verdict) time.Duration { return v.wait(len(v.waits) - 1) })
	span("longest time without ids of a process that had some, whatever kept it from the center", func(v *verdict) time.Duration { return v.paused })
	number("quarantines", func(_ *stage, v *verdict) int64 { return int64(len(v.quarantines)) })
	for o, name := range outcomeNames {
		if total(all, func(v *verdict) int64 { return v.calls[o] }) > 0 && outcome(o) != lost {
			number("calls to the center: "+name, func(_ *stage, v *verdict) int64 { return v.calls[o] })
		}
	}
	for o, name := range outcomeNames {
		if total(all, func(v *verdict) int64 { return v.failures[o] }) > 0 {
			number("callers told: "+name, func(_ *stage, v *verdict) int64 { return v.failures[o] })
		}
	}
	faults := map[string]bool{}
	for _, s := range stages {
		for name := range s.counts {
			faults[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		number("fault: "+name, func(s *stage, _ *verdict) int64 { return int64(s.counts[name]) })
	}
	return b.String()
}

func (v *verdict) wait(i int) time.Duration {
	if len(v.waits) == 0 {
		return 0
	}
	return v.waits[i]
}

func total(all []*verdict, of func(*verdict) int64) (n int64) {
	for _, v := range all {
		n += of(v)
	}
	return n
}

// grouped formats a number with commas.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
