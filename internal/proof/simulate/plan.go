package simulate

import (
	"fmt"
	"strings"
	"time"

	"github.com/snowlease/snowlease/snowflake"
)

// A Plan is all that a run depends on, so that the same plan is the same run to the
// last step. Times count from the start of the run.
type Plan struct {
	Dice   uint64 // seeds the network's delays, the keepers' jitter, what is issued when
	Nodes  []Node // as many as there are lanes for
	Net    Net
	Length time.Duration // when the faults end and the network heals
	Faults []Fault
	MaxTTL time.Duration // what times of faults are measured by
	Skew   time.Duration
	Wait   time.Duration // keeper.Config.Wait, or what a store of numbers may take after a loss

	Numbers *NumberPlan // nil: worker ids, which the rest is for

	Pool   int64
	Layout snowflake.Layout
	Ahead  time.Duration // snowflake.WithMaxAhead
	New    bool          // nobody has opened the namespace
	Calm   bool          // nothing but losses, starts and ends: ids go on and are there soon, which is checked
}

// A Node is a host that runs one process at a time, and besides those that are dead or
// asleep and do not know it.
type Node struct {
	Start time.Duration // of its first process
	TTL   time.Duration
	Wall  time.Duration // how far its wall clock is ahead of the center's
	Rate  int           // of its monotonic clock, in per cent of the true one
	Exact bool          // keeper.Config.ExactTimes
	Issue time.Duration // mean time between two uses of ids
}

// Net is how bad the network always is.
type Net struct {
	Delay  time.Duration // the longest of a request or reply; each is drawn anew, so they overtake each other
	Lost   int           // per cent of requests, and of replies
	Double int           // per cent of requests that arrive twice
}

// A Kind of fault.
type Kind int

// The faults. Each names the fields of Fault that it looks at.
const (
	Crash      Kind = iota // Node's process dies; another starts after For, none if For is 0
	Freeze                 // Node's process stands still between two instructions For; with N 1 another takes its place meanwhile
	Suspend                // the same, and the host's monotonic clock stands still too
	Stop                   // Node's process wants N ids and stops in good order; another starts after For
	Wipe                   // the center loses all records
	Failover               // a replica takes over that is For behind
	DropLease              // the center loses the lease of Worker, in SQL its whole slot
	DropMark               // the center loses the mark of Worker, in SQL its whole slot
	DropMeta               // the center loses the record of the namespace
	DropOwners             // the center loses who holds what
	Restart                // the center restarts with its data after For
	Down                   // nobody reaches the center For
	Cut                    // Node does not reach the center For
	LoseReply              // the reply to Node's next call is lost
	Storm                  // N per cent of all messages are lost for For, as many arrive twice, late
	StepCenter             // the center's clock steps By
	StepClock              // Node's monotonic clock steps By
	Rate                   // Node's monotonic clock goes on at N per cent
	StepWall               // Node's wall clock steps By
	Burst                  // Node's process wants N ids at once
	Copy                   // Node's process has been copied with its memory, which it is told
	Behind                 // nobody reaches the store behind a dispenser For
	Kinds
)

var kindNames = [Kinds]string{
	"crash", "freeze", "suspend", "stop", "wipe", "failover", "drop lease", "drop mark", "drop meta", "drop owners",
	"restart", "down", "cut", "lose reply", "storm", "step center", "step clock", "rate", "step wall", "burst", "copy", "behind",
}

// String returns the kind in a word or two.
func (k Kind) String() string {
	if k < 0 || k >= Kinds {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return kindNames[k]
}

// loses: grants may be forgotten.
func (k Kind) loses() bool {
	switch k {
	case Wipe, Failover, DropLease, DropMark, DropMeta, DropOwners, Restart:
		return true
	}
	return false
}

// A Fault is one event of a plan.
type Fault struct {
	At     time.Duration
	Kind   Kind
	Node   int   // an index of Plan.Nodes
	Worker int64 // below Plan.Pool
	For    time.Duration
	By     time.Duration
	N      int
}

// String returns the fault as a line of a trace has it.
func (f Fault) String() string {
	switch f.Kind {
	case Stop:
		return fmt.Sprintf("%v node %d after %d ids for %v", f.Kind, f.Node, f.N, f.For)
	case Crash, Suspend, Cut:
		return fmt.Sprintf("%v node %d for %v", f.Kind, f.Node, f.For)
	case Freeze:
		return fmt.Sprintf("%v node %d for %v, replaced: %v", f.Kind, f.Node, f.For, f.N == 1)
	case Failover, Restart, Down, Behind:
		return fmt.Sprintf("%v %v", f.Kind, f.For)
	case DropLease, DropMark:
		return fmt.Sprintf("%v %d", f.Kind, f.Worker)
	case LoseReply, Copy:
		return fmt.Sprintf("%v of node %d", f.Kind, f.Node)
	case Storm:
		return fmt.Sprintf("%v of %d%% for %v", f.Kind, f.N, f.For)
	case StepCenter:
		return fmt.Sprintf("%v by %v", f.Kind, f.By)
	case StepClock, StepWall:
		return fmt.Sprintf("%v of node %d by %v", f.Kind, f.Node, f.By)
	case Rate, Burst:
		return fmt.Sprintf("%v node %d: %d", f.Kind, f.Node, f.N)
	}
	return f.Kind.String()
}

// String returns the plan in some lines.
func (p Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "dice %d: MaxTTL %v, skew %v, wait %v\n", p.Dice, p.MaxTTL, p.Skew, p.Wait)
	if p.Numbers != nil {
		fmt.Fprintf(&b, "%+v\n", *p.Numbers)
	} else {
		fmt.Fprintf(&b, "%d workers, calm %v, new %v, layout %v, ahead %v\n", p.Pool, p.Calm, p.New, p.Layout, p.Ahead)
	}
	fmt.Fprintf(&b, "network: up to %v, %d%% lost, %d%% double, heals at %v\n", p.Net.Delay, p.Net.Lost, p.Net.Double, p.Length)
	for i, n := range p.Nodes {
		fmt.Fprintf(&b, "node %d: from %v, TTL %v, wall clock %+v, rate %d%%, ids each %v, exact times %v\n", i, n.Start, n.TTL, n.Wall, n.Rate, n.Issue, n.Exact)
	}
	for _, f := range p.Faults {
		fmt.Fprintf(&b, "%12v %v\n", f.At, f)
	}
	return b.String()
}
