package simulate

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// A Tally sums up runs. Its zero value is empty. It can be stored as JSON.
type Tally struct {
	Runs, Steps, Bad        int // Bad runs broke a rule
	IDs, Processes, Frozen  int
	Calls, Dropped, Refused int // calls of a store; requests lost; calls that gave their caller nothing

	Grants, Renewals, Swaps, Releases int // of worker ids
	Full, Quarantined, Lost           int
	Copies                            int // of processes, with numbers

	Time           time.Duration // virtual, until all faults were mended
	Paused, Waited time.Duration // in calm plans: the longest time that a holder had no ids; the longest wait for a first id, beyond the skew
	Faults         [Kinds]int
}

// Add adds another tally.
func (t *Tally) Add(o Tally) {
	to, by := reflect.ValueOf(t).Elem(), reflect.ValueOf(o)
	for i := range to.NumField() {
		if n := to.Field(i); n.Kind() == reflect.Int {
			n.SetInt(n.Int() + by.Field(i).Int())
		}
	}
	t.Time += o.Time
	t.Paused, t.Waited = max(t.Paused, o.Paused), max(t.Waited, o.Waited)
	for k, n := range o.Faults {
		t.Faults[k] += n
	}
}

// String returns the tally in some lines.
func (t Tally) String() string {
	text := fmt.Sprintf(`%d runs (%d with a rule broken), %d steps, %v of virtual time
%d processes issued %d ids, and %d times were refused some
%d calls (and %d requests dropped)
faults: %s`,
		t.Runs, t.Bad, t.Steps, t.Time.Round(time.Second), t.Processes, t.IDs, t.Refused, t.Calls, t.Dropped, t.faults())
	if t.Grants == 0 {
		return text
	}
	return text + fmt.Sprintf(`
%d grants, %d renewals, %d of them swaps, %d given back
answered that all are lent %d times, by a quarantine %d, that the lease is lost %d
without ids after a loss: holders %v, who starts the skew + %v`,
		t.Grants, t.Renewals, t.Swaps, t.Releases, t.Full, t.Quarantined, t.Lost, t.Paused, t.Waited)
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
