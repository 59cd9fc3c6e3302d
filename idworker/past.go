package idworker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowlease/snowlease/history"
)

// Errors of NextIDAt. Test for them with errors.Is.
var (
	// ErrNoPast is returned if the worker cannot make ids for past times. Its text says
	// why.
	ErrNoPast = errors.New("idworker: no ids for times past")
	// ErrFull is returned if a span of the past has no ids left.
	ErrFull = history.ErrFull
	// ErrTime is returned for a time that is before the layout's epoch, in the future, or
	// early enough to need Backfill.
	ErrTime = history.ErrTime
)

// clockFault is how far the clocks of two hosts with worker ids may be apart: each may
// differ from its center's by lease.MaxClockError, 5 minutes.
const clockFault = 10 * time.Minute

// A past makes ids for past times, one call at a time, so that of the center's two
// connections one is free to renew the lease. SQLite has a single connection, which a call
// holds for one statement only.
type past struct {
	none error           // why there are no such ids; the other fields are then zero
	ids  *history.Issuer // counts them
	from source
	wait time.Duration
	turn chan struct{}
}

func newPast(p plan, from source) (past, error) {
	x, top := from.extras(), p.layout.Workers()-1
	none := ""
	switch {
	case p.Reserved == 0:
		none = "reserved is 0: use mode db and set it to the number of worker ids to keep for them, 1 or more"
	case x.Past == nil:
		none = x.Name + " cannot count them in a SQL database: set mode db, or give the center Extras with a Past, such as dbseq.OpenSegments; if you need none, leave reserved out"
	case !p.hasReserved:
		none = fmt.Sprintf("workers %q leaves out the reserved worker ids, %d to %d, which another database may use: if this database counts them, let the range end at %d",
			p.Workers, p.request.Pool, top, top)
	}
	if none != "" {
		return past{none: fmt.Errorf("%w: %s", ErrNoPast, none)}, nil
	}
	ids, err := history.New(x.Past, history.Config{
		Namespace: p.Namespace, Layout: p.layout, Reserved: p.Reserved, Business: p.Business, Ahead: p.Lease.MaxTTL + p.Store.Skew + clockFault,
	})
	return past{ids: ids, from: from, wait: p.Wait, turn: make(chan struct{}, 1)}, err
}

// start makes the store record since when it counts. Its error is only logged.
func (c past) start(ctx context.Context) error {
	if c.none != nil {
		return c.none
	}
	ctx, cancel := within(ctx, c.wait)
	defer cancel()
	if _, err := c.ids.Since(ctx); err != nil {
		return fmt.Errorf("the next NextIDAt tries again: %w", err)
	}
	return nil
}

// nextIDsAt refuses until the center has lent a worker id. From then on, the namespace has
// pinned a pool without the reserved worker ids, and this host's clock was found to be near
// the center's.
func (c past) nextIDsAt(ctx context.Context, at time.Time, dst []int64) error {
	if c.none != nil {
		return c.none
	}
	if err := c.from.lent(); err != nil {
		return err
	}
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return fmt.Errorf("idworker: next id at: %w", context.Cause(ctx))
	}
	return c.ids.NextIDsAt(ctx, at, dst)
}

func (c past) bound(business int64) (_ past, err error) {
	if c.none == nil {
		c.ids, err = c.ids.For(business)
	}
	return c, err
}

func (c past) backfill(before time.Time) past {
	if c.none == nil {
		c.ids = c.ids.Backfill(before)
	}
	return c
}
