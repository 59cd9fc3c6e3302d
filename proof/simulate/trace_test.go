package simulate

import (
	"fmt"
	"strings"
	"time"
)

// An Event is one step of a run. Numbers that do not apply are 0.
type Event struct {
	At             time.Duration
	Lane, Node     int
	Process        int // from 1; 0: none
	What, Note     string
	Worker, Token  int64
	Floor, Ceiling int64
	Now            int64 // the center's time
	First, Last    int64 // ids
	N              int
}

// String returns the event as a line.
func (e Event) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%12.6fms ", float64(e.At)/1e6)
	if e.Process > 0 {
		fmt.Fprintf(&b, "node %d process %d ", e.Node, e.Process)
	}
	b.WriteString(e.What)
	if e.Note != "" {
		b.WriteString(": " + e.Note)
	}
	if e.Ceiling != 0 {
		fmt.Fprintf(&b, " worker %d token %d (%d, %d] at %d", e.Worker, e.Token, e.Floor, e.Ceiling, e.Now)
	}
	if e.N > 0 {
		fmt.Fprintf(&b, " %d ids %d..%d", e.N, e.First, e.Last)
	}
	return b.String()
}

// A Rule is a condition that must hold at each step.
type Rule int

// The rules.
const (
	Duplicate Rule = iota // an id was issued twice
	Overlap               // two holders of a worker id share a millisecond
	Outside               // an id lies outside its grant, or was issued after the worker id was given back
	Falls                 // an id is not greater than all before it in its process
	MarkFell              // a mark fell without a release by its owner or a loss of records
	Starved               // after all faults were mended, a free worker id was not lent, or its holder issued nothing
	Disorder              // in strict order, a number is not greater than one that was returned before it was requested
	Foreign               // a number was not given to its process, or was given before the process was copied
	Aged                  // a number was reserved for longer than MaxAge
	Paused                // in a calm plan, a holder had no ids for a while
	Late                  // in a calm plan, a process had no ids within the skew plus 1 s of its start or of a later loss; on etcd, plus half of MaxTTL
	Refused               // a member was refused, or a holder stopped, for the times of another
	Rules
)

var ruleNames = [Rules]string{"duplicate id", "overlapping grants", "id outside its grant", "ids fall", "mark fell", "starved", "out of order", "number of another", "too old", "paused", "late", "refused"}

// String returns the rule in some words.
func (r Rule) String() string { return ruleNames[r] }

// A Violation of a rule.
type Violation struct {
	At   time.Duration
	Rule Rule
	What string
}

// A Result is the outcome of a run.
type Result struct {
	Plan       Plan
	Store      string
	Events     []Event
	Broken     [Rules]int
	Violations []Violation // the first of each rule
	Err        error       // the simulator itself failed

	Tally
}

// count sets the Tally to that of this run.
func (r *Result) count() {
	r.Runs, r.Steps = 1, len(r.Events)
	if !r.OK() {
		r.Bad = 1
	}
}

// OK reports whether no rule was broken.
func (r Result) OK() bool { return r.Err == nil && len(r.Violations) == 0 }

// String returns the violations, the plan, and the trace up to the first violation.
func (r Result) String() string {
	var b strings.Builder
	if r.Err != nil {
		fmt.Fprintf(&b, "the simulator failed: %v\n", r.Err)
	}
	for _, v := range r.Violations {
		fmt.Fprintf(&b, "%12.6fms %v (%d times): %s\n", float64(v.At)/1e6, v.Rule, r.Broken[v.Rule], v.What)
	}
	fmt.Fprintf(&b, "on %s, %v", r.Store, r.Plan)
	for _, e := range r.Events {
		if len(r.Violations) > 0 && e.At > r.Violations[0].At {
			break
		}
		fmt.Fprintln(&b, e)
	}
	return b.String()
}
