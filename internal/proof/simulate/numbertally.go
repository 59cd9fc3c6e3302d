package simulate

import "fmt"

// A NumberTally sums up runs of numbers.
type NumberTally struct {
	Runs, Broken, Numbers, Processes, Calls, Refused, Dropped, Lost, Copies, Steps int
	Faults                                                                         [Kinds]int
}

// Add adds a run.
func (t *NumberTally) Add(r NumberResult) {
	t.Runs++
	if !r.OK() {
		t.Broken++
	}
	t.Numbers += r.Numbers
	t.Processes += r.Processes
	t.Calls += r.Calls
	t.Refused += r.Refused
	t.Dropped += r.Dropped
	t.Lost += r.Lost
	t.Copies += r.Copies
	t.Steps += len(r.Events)
	for k, n := range r.Faults {
		t.Faults[k] += n
	}
}

// String returns the tally in some lines.
func (t NumberTally) String() string {
	return fmt.Sprintf("%d runs (%d with a rule broken), %d steps: %d processes issued %d numbers by %d calls (%d requests and %d replies lost); callers were refused %d times\nfaults: %s",
		t.Runs, t.Broken, t.Steps, t.Processes, t.Numbers, t.Calls, t.Dropped, t.Lost, t.Refused, Tally{Faults: t.Faults}.faults())
}
