package idworker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/idworker/history"
	"github.com/snowlease/snowlease/idworker/lease"
)

// Why there is no id for a time past. Test for them with errors.Is.
var (
	// ErrNoPast is returned where no ids for times past are configured.
	ErrNoPast = errors.New("idworker: no ids for times past: set Config.Reserved to the number of worker ids that they may use, 1 or more, and borrow from a SQL database (mode db), which counts them")
	// ErrFull is returned when a second has no id left.
	ErrFull = history.ErrFull
	// ErrTime is returned for a time before the layout's epoch, or to come.
	ErrTime = history.ErrTime
)

// past makes ids for times past, one call after the other: of the centre's two
// connections one is left to the lease. SQLite has one, which each call has for a
// statement only.
type past struct {
	ids   *history.Issuer
	store *dbseq.Segments
	turn  chan struct{}
}

// newPast returns nil where there are none.
func newPast(p plan, center lease.Center) (*past, error) {
	c, ok := center.(interface{ Segments() *dbseq.Segments })
	if !ok || p.Reserved == 0 {
		return nil, nil
	}
	return (&past{store: c.Segments(), turn: make(chan struct{}, 1)}).bound(p)
}

func (h *past) bound(p plan) (*past, error) {
	if h == nil {
		return nil, nil
	}
	ids, err := history.New(history.Config{Namespace: p.Namespace, Layout: p.layout, Reserved: p.Reserved, Business: p.Business}, h.store)
	if err != nil {
		return nil, fmt.Errorf("idworker: %w", err)
	}
	return &past{ids: ids, store: h.store, turn: h.turn}, nil
}

// NextIDAt returns an id for a time past, such as that of a row from an archive, so
// that it sorts where it belongs. It carries one of the Config.Reserved greatest worker
// ids, which are lent to nobody, and is unique across processes and runs: the database
// counts such ids for each second. Each call is a statement; it needs no lease. See
// package history for the rates and the limits.
//
// Errors: ErrNoPast, ErrTime, ErrFull, those of the database. The id is then 0.
func (w *IdWorker) NextIDAt(ctx context.Context, at time.Time) (int64, error) {
	var dst [1]int64
	err := w.NextIDsAt(ctx, at, dst[:])
	return dst[0], err
}

// NextIDsAt fills dst with rising ids for one time past, by one reservation. Errors are
// those of NextIDAt; dst is then all zero.
func (w *IdWorker) NextIDsAt(ctx context.Context, at time.Time, dst []int64) error {
	err := w.past.fill(ctx, at, dst)
	if err != nil {
		clear(dst)
	}
	return err
}

func (h *past) fill(ctx context.Context, at time.Time, dst []int64) error {
	if h == nil {
		return ErrNoPast
	}
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return fmt.Errorf("idworker: next id at: %w", context.Cause(ctx))
	}
	return h.ids.NextIDsAt(ctx, at, dst)
}
