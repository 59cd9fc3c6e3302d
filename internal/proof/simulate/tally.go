package simulate

import (
	"fmt"
	"strings"
	"time"
)

// A Tally sums up runs. Its zero value is empty, and it can be kept as JSON.
type Tally struct {
	Runs, Steps, Broken               int
	IDs, Processes, Calls, Dropped    int
	Grants, Renewals, Swaps, Releases int
	Full, Quarantined, Lost           int
	Time                              time.Duration // virtual
	Paused, Waited                    time.Duration // the longest
	Faults                            [Kinds]int
}

// Add adds a run.
func (t *Tally) Add(r Result) {
	one := Tally{
		Runs: 1, Steps: len(r.Events), IDs: r.IDs, Processes: r.Processes, Calls: r.Calls, Dropped: r.Dropped,
		Grants: r.Grants, Renewals: r.Renewals, Swaps: r.Swaps, Releases: r.Releases,
		Full: r.Full, Quarantined: r.Quarantined, Lost: r.Lost, Time: r.Length, Faults: r.Faults,
		Paused: r.Paused, Waited: r.Waited,
	}
	if !r.OK() {
		one.Broken = 1
	}
	t.Sum(one)
}

// Sum adds another tally.
func (t *Tally) Sum(o Tally) {
	for _, n := range []struct{ to, by *int }{
		{&t.Runs, &o.Runs},
		{&t.Steps, &o.Steps},
		{&t.Broken, &o.Broken},
		{&t.IDs, &o.IDs},
		{&t.Processes, &o.Processes},
		{&t.Calls, &o.Calls},
		{&t.Dropped, &o.Dropped},
		{&t.Grants, &o.Grants},
		{&t.Renewals, &o.Renewals},
		{&t.Swaps, &o.Swaps},
		{&t.Releases, &o.Releases},
		{&t.Full, &o.Full},
		{&t.Quarantined, &o.Quarantined},
		{&t.Lost, &o.Lost},
	} {
		*n.to += *n.by
	}
	t.Time += o.Time
	t.Paused, t.Waited = max(t.Paused, o.Paused), max(t.Waited, o.Waited)
	for k, n := range o.Faults {
		t.Faults[k] += n
	}
}

// String returns the tally in some lines.
func (t Tally) String() string {
	return fmt.Sprintf(`%d runs (%d with a rule broken), %d steps, %v of virtual time
%d processes issued %d ids
%d calls (and %d requests dropped): %d grants, %d renewals, %d of them swaps, %d given back
answered that all are lent %d times, by a quarantine %d, that the lease is lost %d
without ids after a loss: holders %v, who starts the skew + %v
faults: %s`,
		t.Runs, t.Broken, t.Steps, t.Time.Round(time.Second),
		t.Processes, t.IDs, t.Calls, t.Dropped, t.Grants, t.Renewals, t.Swaps, t.Releases,
		t.Full, t.Quarantined, t.Lost, t.Paused, t.Waited, t.faults())
}

func (t Tally) faults() string {
	var parts []string
	for k, n := range t.Faults {
		if n == 0 {
			continue
		}
		parts = append(parts, fmt.Sprintf("%v %d", Kind(k), n))
	}
	return strings.Join(parts, ", ")
}

// Table returns tallies by name as rows of Markdown, and what happened in all.
func Table(names []string, tallies map[string]*Tally) string {
	var b strings.Builder
	b.WriteString("| store | seeds | rules broken | steps | virtual time | processes | ids | grants | renewals | swaps | given back | leases lost | answers \"quarantine\" |\n")
	b.WriteString("|---|" + strings.Repeat("--:|", 12) + "\n")
	var all Tally
	row := func(name string, t Tally) {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %v | %d | %d | %d | %d | %d | %d | %d | %d |\n", name, t.Runs, t.Broken, t.Steps,
			t.Time.Round(time.Minute), t.Processes, t.IDs, t.Grants, t.Renewals, t.Swaps, t.Releases, t.Lost, t.Quarantined)
	}
	for _, name := range names {
		row(name, *tallies[name])
		all.Sum(*tallies[name])
	}
	row("all", all)
	fmt.Fprintf(&b, "\nFaults: %s; requests dropped %d.\n", all.faults(), all.Dropped)
	return b.String()
}
