package simulate

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/snowlease/snowlease/internal/counter"
	"github.com/snowlease/snowlease/numbers"
	"github.com/snowlease/snowlease/snowflake"
)

// A Source is where the numbers of a run come from.
type Source int

// The sources.
const (
	Sequence      Source = iota // counter.Counter
	RedisSegments               // redisnumbers.Store
	Dispenser                   // redisnumbers.Dispenser before sqlnumbers.Store
)

// A NumberPlan is the part of a Plan that concerns numbers.
type NumberPlan struct {
	Source   Source
	Strict   bool                  // numbers rise across processes
	Sequence counter.Config        // Prefetch becomes 1 if Strict
	Segments numbers.SegmentConfig // without Order
	Noticed  time.Duration         // from a loss until an administrator resumes RedisSegments
}

// grid is longer than any time that the product draws at random. With worker ids there
// is none; with numbers, a Dispenser waits for 2 to 12 ms.
func (p Plan) grid() time.Duration {
	switch {
	case p.Numbers == nil:
		return 0
	case p.Numbers.Source == Dispenser:
		return 20 * time.Millisecond
	}
	return time.Millisecond
}

// NumberPlans draws plans for a source with faults that the product promises to survive.
func NumberPlans(source Source) *rapid.Generator[Plan] {
	return rapid.Custom(func(t *rapid.T) Plan { return drawNumberPlan(draws{t}, source) })
}

// faultsOf lists the faults of each source. Those that lose records come first.
var faultsOf = [...]struct{ losses, others []Kind }{
	Sequence: {[]Kind{Wipe, Failover, Restart, DropMeta}, []Kind{
		StepCenter, Crash, Burst, Copy, LoseReply, Stop, Freeze, Storm, Down, Cut,
	}},
	RedisSegments: {[]Kind{Failover, Restart, Wipe, DropMeta}, []Kind{Crash, LoseReply, Burst, Stop, Freeze, Storm, Down, Cut}},
	Dispenser: {[]Kind{Failover, Wipe, Restart, DropMeta}, []Kind{
		LoseReply, Burst, Crash, Behind, Storm, Freeze, Stop, Down, Cut, StepCenter,
	}},
}

func drawNumberPlan(d draws, source Source) Plan {
	unit := time.Duration(d.one("unit", 100, 10, 100, 1)) * time.Millisecond
	n := &NumberPlan{
		Source: source, Strict: source == Dispenser || d.yes("strict"),
		Sequence: counter.Config{
			Namespace: namespace,
			Layout:    snowflake.Layout{Epoch: 946684800000, TimeUnit: unit, WorkerBits: 2, SequenceBits: uint8(d.one("sequence bits", 2, 4))},
			MaxAhead:  unit * time.Duration(d.one("ahead", 10, 2, 30)),
			Skew:      time.Duration(d.one("skew", 100, 10, 500)) * time.Millisecond,
			Prefetch:  1, MaxAge: time.Duration(d.one("age", 200, 20, 1000)) * time.Millisecond,
		},
		Segments: numbers.SegmentConfig{
			Namespace: namespace, Name: namespace, Step: int64(d.one("step", 5, 1, 20)), MinStep: 1, MaxStep: 40, Cover: 500 * time.Millisecond,
		},
	}
	if n.Strict {
		n.Segments.Strict = true
	} else { // the amount depends on whether callers or the prefetcher are faster
		n.Sequence.Prefetch = int64(d.one("prefetch", 8, 64))
		n.Segments.MinStep, n.Segments.MaxStep = n.Segments.Step, n.Segments.Step
	}
	if source == RedisSegments {
		n.Segments.MustExist = true
		n.Noticed = d.span("noticed", time.Duration(d.one("slow", 4, 1))*time.Second)
	}
	p := n.Plan()
	p.Dice, p.Length = rapid.Uint64().Draw(d.T, "dice"), time.Duration(d.int("length", 3, 12))*time.Second
	p.Net = Net{
		Delay: time.Duration(d.one("delay", 2, 10, 60)) * time.Millisecond,
		Lost:  d.one("lost", 0, 2, 10), Double: d.one("double", 0, 5, 20),
	}
	for range d.int("nodes", 2, 4) {
		p.Nodes = append(p.Nodes, Node{
			Start: d.span("start", 2*time.Second), Rate: 100, Issue: time.Duration(d.one("issue", 100, 30, 300)) * time.Millisecond,
		})
	}
	kinds := faultsOf[source].others
	lossy := d.yes("lossy")
	if lossy {
		kinds = append(slices.Clone(faultsOf[source].losses), kinds...)
	}
	for range d.int("faults", 1, 12) {
		p.Faults = append(p.Faults, drawFault(d, p, kinds))
	}
	if lossy && source == Sequence {
		p.Faults = append(p.Faults, drawNumberLosses(d, p)...)
	}
	inOrder(p.Faults)
	p.bound(p.loses(), p.Skew)
	return p
}

// Plan returns a plan with these numbers and with the times that its faults and its
// end are measured by.
func (p *NumberPlan) Plan() Plan {
	s := p.Sequence
	return Plan{
		Numbers: p, Pool: 1, MaxTTL: 1500 * time.Millisecond, Skew: s.Skew,
		Wait: s.MaxAhead + s.Layout.TimeUnit + 4500*time.Millisecond,
	}
}

// drawNumberLosses draws several losses of a sequence's records in a row. Each comes
// after a burst, and when it is noticed the clock lags as far as it may.
func drawNumberLosses(d draws, p Plan) (faults []Fault) {
	at := d.span("first loss", p.Length)
	for range d.int("losses", 0, 6) {
		loss := drawFault(d, p, faultsOf[Sequence].losses)
		loss.At = at
		burst := Fault{Kind: Burst, At: max(0, at-300*time.Millisecond), N: d.int("burst", 1, 100)}
		for burst.Node = range p.Nodes {
			faults = append(faults, burst)
		}
		faults = append(faults, Fault{Kind: StepCenter, At: max(0, at-time.Millisecond), By: -p.Skew}, loss)
		at = min(p.Length, at+d.span("between", 2*p.Skew+300*time.Millisecond))
	}
	return faults
}
