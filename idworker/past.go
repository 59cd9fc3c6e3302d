package idworker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/history"
	"github.com/snowlease/snowlease/lease"
)

// Why there is no id for a time past. Test for them with errors.Is.
var (
	// ErrNoPast is returned where no ids for times past can be made. Its text says why.
	ErrNoPast = errors.New("idworker: no ids for times past")
	// ErrFull is returned when a span of the past has no id left.
	ErrFull = history.ErrFull
	// ErrTime is returned for a time before the layout's epoch, or to come, or before
	// those that need no Backfill.
	ErrTime = history.ErrTime
)

// clockFault is how far the clocks of two hosts may be apart that have worker ids: each
// may be off its center's by 5 min.
const clockFault = 10 * time.Minute

// past makes ids for times past, one call after the other: of the center's two
// connections one is left to the lease. SQLite has one, which each call has for a
// statement only.
type past struct {
	ids  *history.Issuer // nil: there are none, and why says so
	why  string
	turn chan struct{}
}

func newPast(p plan, center lease.Center) (*past, error) {
	c, ok := center.(interface{ Segments() *dbseq.Segments })
	switch {
	case p.Reserved == 0:
		return &past{why: "reserved is 0: set it to the number of worker ids that they may use, 1 or more, in mode db"}, nil
	case !ok:
		what := "mode " + string(p.Mode)
		if center != nil {
			what = lease.Name(center)
		}
		return &past{why: fmt.Sprintf("%s is no center that could count them in a SQL database: set mode db, or give the center a method Segments() *dbseq.Segments, or use package history with dbseq.NewSegments; if you want none leave reserved out", what)}, nil
	case !p.hasReserved:
		return &past{why: fmt.Sprintf("workers %q leaves out the reserved worker ids, %d to %d, for which another database may count: let the range end at %d where this one counts",
			p.Workers, p.request.Pool, p.layout.Workers()-1, p.layout.Workers()-1)}, nil
	}
	ids, err := history.New(history.Config{
		Namespace: p.Namespace, Layout: p.layout, Reserved: p.Reserved, Business: p.Business, Ahead: p.MaxTTL + p.Skew + clockFault,
	}, c.Segments())
	if err != nil {
		return nil, fmt.Errorf("idworker: %w", err)
	}
	return &past{ids: ids, turn: make(chan struct{}, 1)}, nil
}

// startPast has the store know since when it counts, and the log why it does not.
func (w *IdWorker) startPast(ctx context.Context) {
	h, args := w.past, []any{"namespace", w.plan.Namespace, "reserved", w.plan.Reserved}
	switch {
	case w.plan.Reserved == 0:
	case h.ids == nil:
		w.log.Warn("no ids for times past", append(args, "why", h.why)...)
	case w.borrowed():
		ctx, cancel := within(ctx, w.plan.Wait)
		defer cancel()
		if _, err := h.ids.Since(ctx); err != nil {
			w.log.Warn("no ids for times past: trying again when one is asked for", append(args, "err", err)...)
		}
	}
}

// borrowed tells whether the center has lent a worker id at least once: then the namespace
// keeps the reserved ones out of its pool, and this host's clock is not far from its own.
func (w *IdWorker) borrowed() bool { return w.keeper.Status().Grant.Token != 0 }

func (h *past) bound(business int64) (*past, error) {
	if h.ids == nil {
		return h, nil
	}
	ids, err := h.ids.For(business)
	return &past{ids: ids, turn: h.turn}, err
}

// NextIDAt returns an id for a time past, such as that of an event that comes late, so
// that it sorts where it belongs. It carries one of the Config.Reserved greatest worker
// ids, which are lent to nobody, and is unique across processes and runs: the database
// counts such ids for each span of time. There are at least 8,192 a second for each
// reserved worker id, spread over the second, and 2^sequence_bits in a tick. Each call is a
// statement. It needs a worker id that was borrowed once, and none from then on.
//
// Times from some minutes after the namespace's first start on are taken; rows that are
// older need Backfill. Package history says which times are safe.
//
// Errors: ErrNoPast, ErrNotStarted, ErrTime, ErrFull, those of the database. The id is
// then 0.
func (w *IdWorker) NextIDAt(ctx context.Context, at time.Time) (int64, error) {
	var dst [1]int64
	err := w.NextIDsAt(ctx, at, dst[:])
	return dst[0], err
}

// Backfill returns a worker whose NextIDAt also takes times before a time of which the
// caller knows: of no tick before it is there an id with a reserved worker id, but those
// that this database has counted for the same layout. That holds of the time of the
// service's first id:
//
//	id, err := worker.Backfill(founded).NextIDAt(ctx, row.CreatedAt)
//
// If the worker ids were reserved at the service's first start it holds of any time. After
// a move to another database it holds only if the table snowlease_segment was copied, and
// after a restored backup only of times before those that ids were made for since. Nothing
// checks it. Like For it shares w's worker id and life.
func (w *IdWorker) Backfill(before time.Time) *IdWorker {
	other := *w
	other.shared = true
	if w.past.ids != nil {
		other.past = &past{ids: w.past.ids.Backfill(before), turn: w.past.turn}
	}
	return &other
}

// NextIDsAt fills dst with rising ids for one time past, by one reservation. Errors are
// those of NextIDAt; dst is then all zero.
func (w *IdWorker) NextIDsAt(ctx context.Context, at time.Time, dst []int64) error {
	err := w.fillPast(ctx, at, dst)
	if err != nil {
		clear(dst)
	}
	return err
}

func (w *IdWorker) fillPast(ctx context.Context, at time.Time, dst []int64) error {
	h := w.past
	switch {
	case h.ids == nil:
		return fmt.Errorf("%w: %s", ErrNoPast, h.why)
	case !w.borrowed():
		return w.explain(ErrNotStarted)
	}
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return fmt.Errorf("idworker: next id at: %w", context.Cause(ctx))
	}
	return h.ids.NextIDsAt(ctx, at, dst)
}
