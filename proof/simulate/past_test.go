package simulate

import (
	"context"
	"time"

	"github.com/snowlease/snowlease/numbers/history"
)

// past issues backdated ids, mostly for two ticks of a recent span. At times it takes
// one of a few spans before the run, which all processes use up; then many calls ask for
// the same time. After a loss these are spans that had no ids before. Until the raise, all worker ids that are not reserved count as live and
// may issue any ids.
type past struct {
	*history.Issuer
	cfg  history.Config
	b    *issuer
	at   time.Time // the time of the last call
	safe time.Time // for Backfill, as known after Since was read
	n    map[int64]int64
}

// open learns when the store began to count. If the store does not answer, the calls learn it.
func (n *past) open(ctx context.Context) error {
	_, _ = n.Since(ctx)
	return nil
}

func (*past) close() {}

func (n *past) NextIDs(ctx context.Context, dst []int64) error {
	use, ids := n.b.chance, n.Issuer
	span := n.span(time.Now()) - use.Int64N(3)
	switch use.IntN(8) {
	case 0:
		span -= use.Int64N(10)
	case 1, 2:
		if n.safe.IsZero() {
			if _, err := n.Since(ctx); err != nil {
				return err
			}
			n.b.w.mu.Lock()
			n.safe = n.b.n.safe
			n.b.w.mu.Unlock()
		}
		span, ids = n.span(n.safe)-1-use.Int64N(3), ids.Backfill(n.safe)
	}
	tick := time.Duration(use.Int64N(2)) * n.cfg.Layout.TimeUnit
	n.at = time.UnixMilli(n.cfg.Layout.Epoch).Add(time.Duration(span)*n.cfg.Every + tick)
	n.b.w.mu.Lock()
	if n.at.Before(n.b.n.asked) {
		n.b.n.asked = n.at
	}
	n.b.w.mu.Unlock()
	return ids.NextIDsAt(ctx, n.at, dst)
}

func (n *past) span(at time.Time) int64 {
	return (at.UnixMilli() - n.cfg.Layout.Epoch) / n.cfg.Every.Milliseconds()
}

// check compares the ids of a call with the time that was asked for. It decodes them
// itself rather than with the package that encoded them. The caller holds world.mu.
func (n *past) check(ids []int64) {
	w, l := n.b.w, n.cfg.Layout
	span, greatest := n.span(n.at), int64(0)
	for _, id := range ids {
		tick := id >> (l.WorkerBits + l.BusinessBits + l.SequenceBits)
		worker := id >> (l.BusinessBits + l.SequenceBits) & (1<<l.WorkerBits - 1)
		asked := n.at.UnixMilli()
		if (asked-l.Epoch)/l.TimeUnit.Milliseconds() != tick {
			w.broken(Outside, "process %d issued %d, which is of tick %d, for %d ms", n.b.id, id, tick, asked)
		}
		top := int64(1)<<l.WorkerBits - 1
		if worker <= top-n.cfg.Reserved {
			w.broken(Foreign, "process %d issued %d, which is of worker %d", n.b.id, id, worker)
		}
		if at := n.at.Sub(w.start); worker <= top-n.b.n.Past.Reserved && at >= 0 && at <= n.b.n.Raise {
			w.broken(Duplicate, "process %d issued %d, which worker %d issued at %v, when it was live", n.b.id, id, worker, at)
		}
		number := (top-worker)<<l.SequenceBits + id&(1<<l.SequenceBits-1) + 1
		if number <= n.n[span] {
			w.broken(Falls, "process %d issued number %d of span %d after %d", n.b.id, number, span, n.n[span])
		}
		greatest = max(greatest, number)
	}
	n.n[span] = greatest
}
