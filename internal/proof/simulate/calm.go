package simulate

import (
	"time"

	"pgregory.net/rapid"

	"github.com/snowlease/snowlease/snowflake"
)

// CalmPlans draws plans in which hosts and network are well and a worker id is free, while
// the center loses records again and again and processes come and go. In these it is
// checked too that no loss leaves a holder without ids, and that whoever starts has some
// soon: see Paused and Late.
func CalmPlans() *rapid.Generator[Plan] { return rapid.Custom(drawCalmPlan) }

func drawCalmPlan(t *rapid.T) Plan {
	d := draws{t}
	p := Plan{
		Calm: true, Dice: rapid.Uint64().Draw(t, "dice"), Pool: 16, Wait: 10 * time.Second,
		MaxTTL: time.Duration(d.one("MaxTTL", 30, 20, 10)) * time.Second,
		Skew:   time.Duration(d.one("skew", 2000, 1000, 100, 0)) * time.Millisecond,
		New:    d.yes("new"),
		Layout: snowflake.Layout{Epoch: 915148800000, WorkerBits: 4, SequenceBits: 4}.WithDefaults(),
		Ahead:  snowflake.DefaultMaxAhead,
		Net:    Net{Delay: time.Duration(d.one("delay", 2, 10)) * time.Millisecond},
	}
	every := p.Skew + 4*time.Second // another loss, or several within a second
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
	inOrder(p.Faults)
	return p
}

// lost notes a loss of records at this instant. The caller does not hold s.mu.
func (s *sim) lost() {
	s.overdue()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loss = s.now()
}

// overdue looks for processes that should have had an id by now.
func (s *sim) overdue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.nodes {
		if p := n.cur; p != nil && p.issued == 0 && !p.stopping {
			p.waited()
		}
	}
}

// waited notes how long a process has waited for its first id, since it started or, where
// that was later, since records were lost. The caller holds s.mu.
func (p *proc) waited() {
	s := p.s
	if !s.plan.Calm || p.exact() || s.healing {
		return
	}
	wait, bound := s.now()-max(p.began, s.loss), s.plan.Skew+time.Second
	s.result.Waited = max(s.result.Waited, wait-s.plan.Skew)
	if wait > bound {
		s.broken(Late, "process %d has had no id for %v since it started or records were lost", p.id, wait)
	}
}

// paused notes that a process has been without ids, though it has had some. The caller
// holds s.mu.
func (p *proc) paused(since time.Duration) {
	s := p.s
	if !s.plan.Calm || p.exact() || s.healing || p.issued == 0 {
		return
	}
	s.result.Paused = max(s.result.Paused, s.now()-since)
	s.broken(Paused, "process %d has had no id since %v", p.id, since)
}

func (p *proc) exact() bool { return p.s.plan.Nodes[p.node.index].Exact }

// refused notes that a process could not start. The caller holds s.mu.
func (p *proc) refused(err error) {
	if s := p.s; s.plan.Calm && !p.exact() && !s.healing {
		s.broken(Late, "process %d could not start: %v", p.id, kindOf(err))
	}
}
