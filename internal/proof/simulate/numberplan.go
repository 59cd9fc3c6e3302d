package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/snowlease/snowlease/history"
	"github.com/snowlease/snowlease/redisseq/counter"
	"github.com/snowlease/snowlease/segment"
	"github.com/snowlease/snowlease/snowflake"
)

// A Source is where the numbers of a run come from.
type Source int

// The sources.
const (
	Sequence      Source = iota // redisseq/counter.Counter
	SQLSegments                 // dbseq.Segments
	RedisSegments               // redisseq/segments.Store
	Dispenser                   // redisseq/segments.Dispenser before dbseq.Segments
	Past                        // history.Issuer on dbseq.Segments
)

// onSQL: there is nothing else.
func (s Source) onSQL() bool { return s == SQLSegments || s == Past }

// A NumberPlan is all that a run of numbers depends on. Of Plan it has the faults, the
// nodes' Start and Issue, and Net.
type NumberPlan struct {
	Dice     uint64
	Source   Source
	Nodes    []Node
	Net      Net
	Length   time.Duration
	Faults   []Fault
	Strict   bool           // numbers rise across processes
	Sequence counter.Config // but for Prefetch 1, where Strict
	Segments segment.Config // but for Order
	Past     history.Config
	Raise    time.Duration // when all go over to one more reserved worker id, under another namespace
}

// raised is the configuration of Past from Raise on.
func (p NumberPlan) raised() history.Config {
	c := p.Past
	c.Namespace += "-2"
	c.Reserved++
	return c
}

// MaxNumberNodes is how many nodes a NumberPlan can have.
const MaxNumberNodes = (laneCount - 2) / numberLanes

// NumberPlans draws plans of a source whose faults the product promises to survive.
func NumberPlans(source Source) *rapid.Generator[NumberPlan] {
	return rapid.Custom(func(t *rapid.T) NumberPlan { return drawNumberPlan(draws{t}, source) })
}

// NumberPlanOf returns the plan of a seed.
func NumberPlanOf(source Source, seed int) NumberPlan { return NumberPlans(source).Example(seed) }

// faultsOf are what can happen to a source. Those that lose records come first.
var faultsOf = [...]struct{ losses, others []Kind }{
	Sequence: {[]Kind{Wipe, Failover, Restart, DropMeta}, []Kind{
		StepCenter, Crash, Burst, Copy, LoseReply, Stop, Freeze, Storm, Down, Cut,
	}},
	SQLSegments:   {nil, []Kind{Crash, LoseReply, Burst, Stop, Freeze, Storm, Down, Cut, StepCenter}},
	RedisSegments: {[]Kind{Failover, Restart, Wipe, DropMeta}, []Kind{Crash, LoseReply, Burst, Stop, Freeze, Storm, Down, Cut}},
	Dispenser: {[]Kind{Failover, Wipe, Restart, DropMeta}, []Kind{
		LoseReply, Burst, Crash, Behind, Storm, Freeze, Stop, Down, Cut, StepCenter,
	}},
	Past: {nil, []Kind{Crash, LoseReply, Burst, Stop, Freeze, Storm, Down, Cut, StepCenter}},
}

func drawNumberPlan(d draws, source Source) NumberPlan {
	p := NumberPlan{
		Dice: rapid.Uint64().Draw(d.T, "dice"), Source: source,
		Strict: source == Dispenser || d.yes("strict"),
		Length: time.Duration(d.int("length", 3, 12)) * time.Second,
		Net: Net{
			Delay: time.Duration(d.one("delay", 2, 10, 60)) * time.Millisecond,
			Lost:  d.one("lost", 0, 2, 10), Double: d.one("double", 0, 5, 20),
		},
	}
	unit := time.Duration(d.one("unit", 100, 10, 100, 1)) * time.Millisecond
	p.Sequence = counter.Config{
		Namespace: namespace,
		Layout:    snowflake.Layout{Epoch: 915148800000, TimeUnit: unit, WorkerBits: 2, SequenceBits: uint8(d.one("sequence bits", 2, 4))},
		MaxAhead:  unit * time.Duration(d.one("ahead", 10, 2, 30)),
		Skew:      time.Duration(d.one("skew", 100, 10, 500)) * time.Millisecond,
		Prefetch:  1, MaxAge: time.Duration(d.one("age", 200, 20, 1000)) * time.Millisecond,
	}
	if !p.Strict {
		p.Sequence.Prefetch = int64(d.one("prefetch", 8, 64))
	}
	p.Segments = segment.Config{
		Name: namespace, Order: segment.OrderProcess, Step: int64(d.one("step", 5, 1, 20)), MinStep: 1, MaxStep: 40, Cover: 500 * time.Millisecond,
	}
	if p.Strict {
		p.Segments.Order = segment.OrderStrict
	} else { // how many it asks for depends on who is faster, a caller or the one who asks
		p.Segments.MinStep, p.Segments.MaxStep = p.Segments.Step, p.Segments.Step
	}
	if source == RedisSegments {
		p.Segments.Create = segment.CreateNever
	}
	if source == Past { // spans run full
		p.Strict = false
		p.Past = history.Config{
			Namespace: namespace, Layout: p.Sequence.Layout.WithDefaults(), Reserved: int64(d.int("reserved", 1, 2)),
			Every: time.Duration(d.one("every", 2, 1, 10)) * 100 * time.Millisecond,
			Ahead: time.Duration(d.int("ahead", 100, 500)) * time.Millisecond,
		}
		p.Raise = p.Length/4 + d.span("raise", p.Length/2)
	}
	for range d.int("nodes", 2, 4) {
		p.Nodes = append(p.Nodes, Node{
			Start: d.span("start", 2*time.Second), Issue: time.Duration(d.one("issue", 100, 30, 300)) * time.Millisecond,
		})
	}
	kinds := faultsOf[source].others
	lossy := d.yes("lossy")
	if lossy {
		kinds = append(slices.Clone(faultsOf[source].losses), kinds...)
	}
	for range d.int("faults", 1, 12) {
		p.Faults = append(p.Faults, drawNumberFault(d, p, kinds))
	}
	if lossy && source == Sequence {
		p.Faults = append(p.Faults, drawNumberLosses(d, p)...)
	}
	slices.SortStableFunc(p.Faults, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
	p.bound()
	return p
}

// drawNumberLosses draws losses of a sequence's records in a row, each after a burst and noticed
// by a clock that is as far behind as it may be.
func drawNumberLosses(d draws, p NumberPlan) (faults []Fault) {
	at := d.span("first loss", p.Length)
	for range d.int("losses", 0, 6) {
		loss := drawNumberFault(d, p, faultsOf[Sequence].losses)
		loss.At = at
		burst := Fault{Kind: Burst, At: max(0, at-300*time.Millisecond), N: d.int("burst", 1, 100)}
		for burst.Node = range p.Nodes {
			faults = append(faults, burst)
		}
		faults = append(faults, Fault{Kind: StepCenter, At: max(0, at-time.Millisecond), By: -p.Sequence.Skew}, loss)
		at = min(p.Length, at+d.span("between", 2*p.Sequence.Skew+300*time.Millisecond))
	}
	return faults
}

func drawNumberFault(d draws, p NumberPlan, kinds []Kind) Fault {
	f := Fault{
		Kind: rapid.SampledFrom(kinds).Draw(d.T, "kind"),
		At:   d.span("at", p.Length), Node: d.int("node", 0, len(p.Nodes)-1),
	}
	switch f.Kind {
	case Crash, Stop:
		f.For = d.span("for", time.Second) + time.Millisecond
	case Freeze, Failover, Restart, Down, Cut, Behind, Storm:
		f.For = d.span("for", 3*time.Second)
		if f.Kind == Storm {
			f.N = d.one("storm", 30, 60)
		}
	case StepCenter:
		f.By = d.span("by", time.Duration(d.one("far", 1, 10, 60))*time.Second)
		if d.yes("back") {
			f.By = -f.By
		}
	case Burst:
		f.N = d.int("burst", 1, 100)
		if p.Source == Sequence { // to use up the lead
			f.N *= 2
		}
	}
	return f
}

// bound takes off the steps of the clock what the product does not promise to survive:
// a clock that is wrong by minutes, or, with any loss in the plan, back by more than the
// skew.
func (p *NumberPlan) bound() {
	lossy := slices.ContainsFunc(p.Faults, func(f Fault) bool { return f.Kind.loses() })
	latest, ahead := time.Duration(0), time.Duration(0)
	for i, f := range p.Faults {
		if f.Kind != StepCenter {
			continue
		}
		latest = max(latest, f.At+ahead)
		if f.By < 0 && lossy {
			f.By = max(f.By, latest-p.Sequence.Skew-f.At-ahead)
		}
		p.Faults[i].By = max(-2*time.Minute, min(2*time.Minute, ahead+f.By)) - ahead
		ahead += p.Faults[i].By
	}
}

// settle is how long all may take once the faults have ended: a quarantine, and what is
// waited for between attempts.
func (p NumberPlan) settle() time.Duration {
	c := p.Sequence
	return c.MaxAhead + c.Layout.TimeUnit + c.Skew + 20*time.Second
}

// String returns the plan in some lines.
func (p NumberPlan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "dice %d, strict %v, network up to %v, %d%% lost, %d%% double, heals at %v\n", p.Dice, p.Strict, p.Net.Delay, p.Net.Lost, p.Net.Double, p.Length)
	switch p.Source {
	case Sequence:
		fmt.Fprintf(&b, "%v, ahead %v, skew %v, prefetch %d, age %v\n", p.Sequence.Layout, p.Sequence.MaxAhead, p.Sequence.Skew, p.Sequence.Prefetch, p.Sequence.MaxAge)
	case Past:
		fmt.Fprintf(&b, "%v, %d reserved, one more at %v, every %v, ahead %v\n", p.Past.Layout, p.Past.Reserved, p.Raise, p.Past.Every, p.Past.Ahead)
	default:
		fmt.Fprintf(&b, "step %d\n", p.Segments.Step)
	}
	for i, n := range p.Nodes {
		fmt.Fprintf(&b, "node %d: from %v, numbers each %v\n", i, n.Start, n.Issue)
	}
	for _, f := range p.Faults {
		fmt.Fprintf(&b, "%12v %v\n", f.At, f)
	}
	return b.String()
}
