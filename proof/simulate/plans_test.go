package simulate

import (
	"cmp"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/snowflake"
)

// Plans draws plans with faults that the product promises to survive. Some lose
// records of the center; across these losses its clock steps back by at most the skew.
// The others lose none, and the clock steps by any amount.
func Plans() *rapid.Generator[Plan] { return rapid.Custom(drawPlan) }

// EtcdPlans draws plans for Etcd, which loses no records when it restarts. In plans that lose
// records, the clocks of all hosts differ by at most the skew, also from what they showed before.
func EtcdPlans() *rapid.Generator[Plan] { return rapid.Custom(drawEtcdPlan) }

// draws draws the values of a plan. rapid shrinks to small numbers and draws them more
// often than great ones, so times are spread.
type draws struct{ *rapid.T }

func (d draws) int(name string, from, to int) int { return rapid.IntRange(from, to).Draw(d.T, name) }

func (d draws) one(name string, of ...int) int { return rapid.SampledFrom(of).Draw(d.T, name) }

func (d draws) yes(name string) bool { return rapid.Bool().Draw(d.T, name) }

// span draws a time below limit in whole milliseconds, evenly distributed.
func (d draws) span(name string, limit time.Duration) time.Duration {
	const golden = 0.6180339887498949
	part := float64(rapid.Uint16().Draw(d.T, name)) * golden
	return time.Duration((part - float64(int64(part))) * float64(limit)).Truncate(time.Millisecond)
}

func drawPlan(t *rapid.T) Plan {
	p := draw(t, steady, lossy)
	p.bound(p.loses(), p.least().Skew)
	p.lag(0)
	return p
}

func drawEtcdPlan(t *rapid.T) Plan {
	p := draw(t, steadyEtcd, lossyEtcd)
	p.Net.Double = 0 // gRPC sends no request twice
	lossy := slices.ContainsFunc(p.Faults, func(f Fault) bool { return f.Kind.loses() && f.Kind != Restart })
	apart := p.least().Skew / 2
	p.bound(lossy, p.least().Skew-apart)
	p.lag(apart)
	if !lossy && p.Others == nil {
		return p
	}
	walls := make([]time.Duration, len(p.Nodes))
	for i := range p.Nodes {
		walls[i] = p.Nodes[i].Wall.Abs() % (apart + 1)
		p.Nodes[i].Wall = walls[i]
	}
	for i := range p.Faults {
		if f := &p.Faults[i]; f.Kind == StepWall {
			is := (walls[f.Node] + f.By).Abs() % (apart + 1)
			f.By, walls[f.Node] = is-walls[f.Node], is
		}
	}
	return p
}

func draw(t *rapid.T, steady, lossy []Kind) Plan {
	d := draws{t}
	p := Plan{
		Dice: rapid.Uint64().Draw(t, "dice"),
		Pool: int64(d.one("pool", 1, 2, 1, 3, 4)),
		// A third and a half of it are whole milliseconds and whole time units.
		MaxTTL: time.Duration(d.one("MaxTTL", 20, 10, 40, 100)) * 30 * time.Millisecond,
	}
	exact := d.yes("exact times")
	p.New = d.int("new", 0, 7) == 7
	p.Skew = p.MaxTTL * time.Duration(d.one("skew", 10, 0, 25)) / 100
	p.Wait = p.MaxTTL * time.Duration(d.one("wait", 4, 1, 10))
	p.Length = p.MaxTTL * time.Duration(d.int("length", 2, 9))
	unit := d.one("unit", 1, 1, 3, 10)
	p.Layout = snowflake.Layout{
		// Two sequence bits: processes that share a worker id and a tick soon make equal ids.
		Epoch:    946684800000 + int64(d.int("epoch", 0, 9)),
		TimeUnit: time.Duration(unit) * time.Millisecond, WorkerBits: 2, SequenceBits: uint8(d.one("sequence bits", 2, 1)),
	}.WithDefaults()
	p.Ahead = p.Layout.TimeUnit * time.Duration(d.one("ahead", 5, 2, 20))
	p.Net = Net{
		Delay: time.Duration(d.one("delay", 2, 10, 60)) * p.MaxTTL / 600,
		Lost:  d.one("lost", 0, 2, 10), Double: d.one("double", 0, 5, 20),
	}
	nodes := int(p.Pool) + d.int("more nodes", 0, 3)
	for i := range nodes {
		p.Nodes = append(p.Nodes, Node{
			Start: d.span("start", p.MaxTTL),
			TTL:   p.MaxTTL / time.Duration(d.one("TTL", 1, 1, 2)),
			Wall:  d.span("wall", 2*time.Minute) * time.Duration(d.one("ahead", 1, -1)),
			Rate:  d.one("rate", 100, 100, 101, 90, 120),
			Issue: p.MaxTTL / time.Duration(d.one("issue", 20, 60, 5)),
			Exact: exact && (p.Dice^uint64(i))%4 == 0,
		})
		n := &p.Nodes[len(p.Nodes)-1]
		if n.TTL < 100*time.Millisecond || n.TTL < 2*p.Skew || n.TTL < 10*p.Layout.TimeUnit {
			n.TTL = p.MaxTTL
		}
	}
	kinds := steady
	if d.yes("lossy") {
		kinds = append(slices.Clone(lossy), steady...)
	}
	for range d.int("faults", 1, 12) {
		p.Faults = append(p.Faults, drawFault(d, p, kinds))
	}
	if len(kinds) > len(steady) {
		drawInARow(d, &p, lossy)
	}
	if d.int("members differ", 0, 3) == 3 {
		drawTimes(d, &p, len(kinds) > len(steady))
	}
	inOrder(p.Faults)
	return p
}

func inOrder(faults []Fault) {
	slices.SortStableFunc(faults, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
}

var (
	steady = []Kind{
		Stop, Freeze, StepCenter, Crash, StepClock, Cut, LoseReply, Down,
		Stop, Storm, Suspend, Rate, StepWall, Burst,
	}
	lossy = []Kind{Wipe, Failover, DropMark, Restart, DropLease, DropMeta, DropOwners}

	steadyEtcd = append(slices.Clone(steady), Restart, StepWall)
	lossyEtcd  = []Kind{Wipe, Failover, DropMark, DropMeta, Failover, DropLease, DropOwners}
)

// drawInARow makes losses more frequent. Some come two or three in a row: within a
// thirtieth of MaxTTL (one second with the default), before the next renewal, or later.
func drawInARow(d draws, p *Plan, lossy []Kind) {
	for range d.int("more losses", 0, 8) {
		f := drawFault(d, *p, lossy)
		p.Faults = append(p.Faults, f)
		for range d.one("again", 0, 0, 1, 2) {
			next := drawFault(d, *p, lossy)
			next.At = f.At + d.span("within", p.MaxTTL/time.Duration(d.one("part", 30, 3, 1)))
			p.Faults = append(p.Faults, next)
		}
	}
}

func drawFault(d draws, p Plan, kinds []Kind) Fault {
	f := Fault{
		Kind:   rapid.SampledFrom(kinds).Draw(d.T, "kind"),
		At:     d.span("at", p.Length),
		Node:   d.int("node", 0, len(p.Nodes)-1),
		Worker: int64(d.int("worker", 0, int(p.Pool)-1)),
	}
	switch f.Kind {
	case Crash, Stop:
		f.For = d.span("for", p.MaxTTL) + time.Millisecond
		if f.Kind == Stop {
			f.N = d.int("burst", 0, p.burst())
		}
	case Freeze, Suspend:
		f.For, f.N = d.span("for", 4*p.MaxTTL), d.int("replaced", 0, 1)
	case Failover, Restart, Down, Behind, Cut, Storm:
		f.For = d.span("for", 2*p.MaxTTL)
		if f.Kind == Storm {
			f.N = d.one("storm", 30, 60)
		}
	case StepCenter, StepClock, StepWall:
		f.By = d.span("by", 2*p.MaxTTL)
		switch d.int("far", 0, 5) {
		case 4:
			f.By *= 10
		case 5:
			f.By *= 100
		}
		if d.yes("back") {
			f.By = -f.By
		}
	case Rate:
		f.N = d.one("rate", 100, 50, 200)
	case Burst:
		f.N = d.int("burst", 1, p.burst())
	}
	return f
}

// burst is how many ids are wanted at once. For a Sequence they must use up its lead.
func (p Plan) burst() int {
	switch {
	case p.Numbers == nil:
		return 400
	case p.Numbers.Source == Sequence:
		return 200
	}
	return 100
}

func (p *Plan) loses() bool {
	return slices.ContainsFunc(p.Faults, func(f Fault) bool { return f.Kind.loses() })
}

// bound limits the center's steps back to what the product promises to survive: with
// any loss in the plan, the skew in total, of which most is left.
func (p *Plan) bound(lossy bool, most time.Duration) {
	latest, ahead := time.Duration(0), time.Duration(0) // of the center's clock, relative to the true time
	for i := range p.Faults {
		f := &p.Faults[i]
		if f.Kind != StepCenter {
			continue
		}
		latest = max(latest, f.At+ahead)
		if f.By < 0 && lossy {
			f.By = max(f.By, latest-most-f.At-ahead)
		}
		if p.Numbers != nil { // numbers fail when clocks are wrong by more
			f.By = max(-2*time.Minute, min(2*time.Minute, ahead+f.By)) - ahead
		}
		ahead += f.By
	}
}

// CalmPlans draws plans in which hosts and network are healthy and a worker id is
// free, while the center loses records again and again and processes come and go. They
// also check that no loss leaves a holder without ids, and that a process that starts
// has ids soon: see Paused and Late.
func CalmPlans() *rapid.Generator[Plan] { return rapid.Custom(drawCalmPlan) }

func drawCalmPlan(t *rapid.T) Plan {
	d := draws{t}
	p := Plan{
		Calm: true, Dice: rapid.Uint64().Draw(t, "dice"), Pool: 16, Wait: 10 * time.Second,
		MaxTTL: time.Duration(d.one("MaxTTL", 30, 20, 10)) * time.Second,
		Skew:   time.Duration(d.one("skew", 2000, 1000, 100, 0)) * time.Millisecond,
		New:    d.yes("new"),
		Layout: snowflake.Layout{Epoch: 946684800000, WorkerBits: 4, SequenceBits: 4}.WithDefaults(),
		Ahead:  generator.DefaultMaxAhead,
		Net:    Net{Delay: time.Duration(d.one("delay", 2, 10)) * time.Millisecond},
	}
	every := p.Skew + 4*time.Second // one more loss, or several within a second
	p.Length = every * time.Duration(d.int("losses", 1, 20))
	for i := range d.int("nodes", 1, 4) {
		n := Node{TTL: p.MaxTTL, Rate: 100, Issue: 100 * time.Millisecond, Exact: (p.Dice^uint64(i))%8 == 0}
		if p.MaxTTL > 10*time.Second && d.yes("shorter TTL") {
			n.TTL /= 2
		}
		if i > 0 {
			n.Start = d.span("start", p.Length)
		}
		p.Nodes = append(p.Nodes, n)
	}
	at := func(from time.Duration, kinds ...Kind) {
		f := Fault{
			Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), At: from + d.span("at", time.Second),
			Node: d.int("node", 0, len(p.Nodes)-1), Worker: int64(d.int("worker", 0, int(p.Pool)-1)),
		}
		switch f.Kind {
		case Failover:
			f.For = d.span("for", 2*p.MaxTTL)
		case Stop, Crash:
			f.For = d.span("for", 2*every) + time.Millisecond
		}
		p.Faults = append(p.Faults, f)
	}
	for from := time.Duration(0); from < p.Length; from += every {
		for range d.one("losses at once", 1, 0, 1, 2, 3) {
			at(from, lossy...)
		}
		if d.yes("process ends") {
			at(from+d.span("when", every-time.Second), Stop, Crash)
		}
	}
	if d.int("members differ", 0, 3) == 3 {
		drawTimes(d, &p, true)
	}
	inOrder(p.Faults)
	p.lag(0)
	return p
}
