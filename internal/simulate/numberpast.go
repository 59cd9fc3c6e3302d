package simulate

import (
	"context"
	"time"

	"github.com/snowlease/snowlease/idworker/history"
)

// past issues ids for times past: for two ticks of a span that has just been or, at
// times, of one that all have used up. Then many calls ask for one time.
type past struct {
	*history.Issuer
	p  *issuing
	at time.Time // of the last call
	n  map[int64]int64
}

func (*past) open(context.Context) error { return nil }
func (*past) reset()                     {}
func (*past) close()                     {}

func (n *past) NextIDs(ctx context.Context, dst []int64) error {
	cfg, use := n.p.s.plan.Past, n.p.use
	span := n.span(time.Now()) - use.Int64N(3)
	if use.IntN(10) == 0 {
		span = n.span(n.p.s.start)
	}
	tick := time.Duration(use.Int64N(2)) * cfg.Layout.TimeUnit
	n.at = time.UnixMilli(cfg.Layout.Epoch).Add(time.Duration(span)*cfg.Every + tick)
	return n.NextIDsAt(ctx, n.at, dst)
}

func (n *past) span(at time.Time) int64 {
	cfg := n.p.s.plan.Past
	return (at.UnixMilli() - cfg.Layout.Epoch) / cfg.Every.Milliseconds()
}

// check holds an id against the time that it was asked for. Its bits are taken apart
// here, not by the package that put them together. The caller holds course.mu.
func (n *past) check(id int64) {
	s, cfg := n.p.s, n.p.s.plan.Past
	l := cfg.Layout
	tick := id >> (l.WorkerBits + l.BusinessBits + l.SequenceBits)
	worker := id >> (l.BusinessBits + l.SequenceBits) & (1<<l.WorkerBits - 1)
	if asked := n.at.UnixMilli(); (asked-l.Epoch)/l.TimeUnit.Milliseconds() != tick {
		s.broken(Outside, "process %d issued %d, which is of tick %d, for %d ms", n.p.id, id, tick, asked)
	}
	first := int64(1)<<l.WorkerBits - cfg.Reserved
	if worker < first {
		s.broken(Foreign, "process %d issued %d, which is of worker %d", n.p.id, id, worker)
	}
	span, number := n.span(n.at), (worker-first)<<l.SequenceBits+id&(1<<l.SequenceBits-1)+1
	if number <= n.n[span] {
		s.broken(Falls, "process %d issued number %d of span %d after %d", n.p.id, number, span, n.n[span])
	}
	n.n[span] = number
}
