package simulate

import (
	"fmt"
	"strings"
	"time"

	"github.com/snowlease/snowlease/snowflake"
)

// A Plan determines a run to its last step. Times count from the start of the run.
type Plan struct {
	Dice   uint64 // seeds the network's delays, the keepers' jitter and the demand for ids
	Nodes  []Node // at most as many as there are lanes
	Net    Net
	Length time.Duration // when the faults end and the network heals
	Faults []Fault
	MaxTTL time.Duration // the unit for times of faults
	Skew   time.Duration
	Wait   time.Duration // keeper.Config.Wait, or how long a store of numbers may take after a loss

	Numbers *NumberPlan // nil: worker ids, which the fields below concern

	Pool   int64
	Layout snowflake.Layout
	Ahead  time.Duration // generator.WithMaxAhead
	New    bool          // nobody has opened the namespace
	Calm   bool          // only losses, starts and ends; checks that ids continue and are available soon
	Others []Times       // besides MaxTTL and Skew; empty: all members have the same
	Opened int           // the times of who opens the namespace: see Plan.times
}

// Times are those of a member.
type Times struct{ TTL, MaxTTL, Skew time.Duration }

// A Node is a host that runs one current process. Beside it there may be processes
// that were replaced while they were frozen.
type Node struct {
	Start time.Duration // of its first process
	TTL   time.Duration
	Wall  time.Duration // how far its wall clock is ahead of the center's
	Rate  int           // rate of its monotonic clock, in percent
	Exact bool          // keeper.Config.ExactTimes
	Times int           // of its first process: see Plan.times
	Issue time.Duration // mean time between two uses of ids
}

// Net is how bad the network always is.
type Net struct {
	Delay  time.Duration // maximum of a request or reply; each is drawn separately, so they overtake each other
	Lost   int           // percent of requests, and of replies
	Double int           // percent of requests that arrive twice
}

// A Kind of fault.
type Kind int

// The faults, with the fields of Fault that each uses.
const (
	Crash      Kind = iota // Node's process dies; another starts after For, or none if For is 0
	Freeze                 // Node's process freezes between two instructions for For; with N 1, another replaces it meanwhile
	Suspend                // like Freeze, and the host's monotonic clock stops too
	Stop                   // Node's process wants N ids and stops cleanly; another starts after For
	Wipe                   // the center loses all records
	Failover               // a replica that lags by For takes over
	DropLease              // the center loses the lease of Worker; SQL loses its whole slot
	DropMark               // the center loses the mark of Worker; SQL loses its whole slot
	DropMeta               // the center loses the namespace record
	DropOwners             // the center loses all owners
	Restart                // the center restarts with its data after For
	Down                   // nobody reaches the center for For
	Cut                    // Node does not reach the center for For
	LoseReply              // the reply to Node's next call is lost
	Storm                  // for For, N percent of all messages are lost, and as many are duplicated and late
	StepCenter             // the center's clock steps by By
	StepClock              // Node's monotonic clock steps by By
	Rate                   // Node's monotonic clock runs at N percent
	StepWall               // Node's wall clock steps by By
	Burst                  // Node's process wants N ids at once
	Copy                   // Node's process has been copied with its memory, and is told so
	Behind                 // nobody reaches the store behind a dispenser for For
	Deploy                 // Node's process stops cleanly; another with the times N starts after For
	DropSome               // the center loses the records that N says: see some
	Kinds
)

var kindNames = [Kinds]string{
	"crash", "freeze", "suspend", "stop", "wipe", "failover", "drop lease", "drop mark", "drop meta", "drop owners",
	"restart", "down", "cut", "lose reply", "storm", "step center", "step clock", "rate", "step wall", "burst", "copy", "behind", "deploy", "drop some",
}

// String returns the kind in a word or two.
func (k Kind) String() string {
	if k < 0 || k >= Kinds {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return kindNames[k]
}

// loses reports whether grants may be forgotten.
func (k Kind) loses() bool {
	switch k {
	case Wipe, Failover, DropLease, DropMark, DropMeta, DropOwners, Restart, DropSome:
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

// String returns the fault as a trace shows it.
func (f Fault) String() string {
	return fmt.Sprintf("%v, node %d, worker %d, for %v, by %v, N %d", f.Kind, f.Node, f.Worker, f.For, f.By, f.N)
}

// String returns the plan in some lines.
func (p Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "dice %d: MaxTTL %v, skew %v, wait %v\n", p.Dice, p.MaxTTL, p.Skew, p.Wait)
	if p.Numbers != nil {
		fmt.Fprintf(&b, "%+v\n", *p.Numbers)
	} else {
		fmt.Fprintf(&b, "%d workers, calm %v, new %v, opened with times %d, layout %v, ahead %v\n", p.Pool, p.Calm, p.New, p.Opened, p.Layout, p.Ahead)
	}
	for i, o := range p.Others {
		fmt.Fprintf(&b, "times %d: TTL %v, MaxTTL %v, skew %v\n", i+1, o.TTL, o.MaxTTL, o.Skew)
	}
	fmt.Fprintf(&b, "network: up to %v, %d%% lost, %d%% double, heals at %v\n", p.Net.Delay, p.Net.Lost, p.Net.Double, p.Length)
	for i, n := range p.Nodes {
		fmt.Fprintf(&b, "node %d: from %v, TTL %v, wall clock %+v, rate %d%%, ids each %v, exact times %v, times %d\n", i, n.Start, n.TTL, n.Wall, n.Rate, n.Issue, n.Exact, n.Times)
	}
	for _, f := range p.Faults {
		fmt.Fprintf(&b, "%12v %v\n", f.At, f)
	}
	return b.String()
}
