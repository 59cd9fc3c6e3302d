package idworker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// A source is where a worker gets its ids: leased, counted or fixed. Its methods are safe
// for concurrent use.
type source interface {
	// start makes ids available. facts are attributes for the log.
	start(ctx context.Context) (facts []any, err error)
	// stop ends issuing for good, then gives back the worker id, then closes what was
	// opened. A second stop does nothing.
	stop(ctx context.Context) error
	// reset implements IdWorker.Reset.
	reset(ctx context.Context) error
	stream(business int64) (numbers, error)
	// err returns why no id can be issued at this moment, or nil.
	err() error
	// explain adds the cause or a remedy to an error of a stream or of err.
	explain(err error) error
	// lent returns an error until the center has lent the first worker id.
	lent() error
	status(st *Status)
	// extras returns those of the center, or their equivalent if there is no center.
	extras() lease.Extras
}

// numbers are the ids of a business number.
type numbers interface {
	NextID() (int64, error)
	NextIDWait(ctx context.Context) (int64, error)
	NextIDs(ctx context.Context, dst []int64) error
}

// advise says when ids are available, if err is about that.
func advise(err error) error {
	switch {
	case errors.Is(err, ErrNotStarted):
		return fmt.Errorf("%w: ids are available from OnStart on, not in constructors or fx.Invoke; list idworker.Module before the modules that ask for them in start hooks", err)
	case errors.Is(err, ErrStopped):
		return fmt.Errorf("%w: the worker was closed, or the fx application has stopped: list idworker.Module before the modules that ask for ids in stop hooks", err)
	}
	return err
}

// within bounds ctx by wait. It also ends slightly before ctx: fx drops start errors after
// the deadline.
func within(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	deadline := time.Now().Add(wait)
	if end, ok := ctx.Deadline(); ok {
		if end = end.Add(-min(500*time.Millisecond, time.Until(end)/10)); end.Before(deadline) {
			deadline = end
		}
	}
	return context.WithDeadline(ctx, deadline)
}

// generated is what leased and fixed have in common.
type generated struct{ gen *snowflake.Generator }

func (g generated) stream(business int64) (numbers, error) { return g.gen.For(business) }

func (g generated) err() error { return g.gen.Err() }

func (g generated) status(st *Status) {
	st.Issued, st.Waits, st.Lead = g.gen.Issued(), g.gen.Waits(), g.gen.Lead()
	switch err := g.gen.Err(); {
	case errors.Is(err, ErrStopped):
		st.State = StateStopped
	case errors.Is(err, ErrNotStarted) && st.State != StateQuarantined:
		st.State = StateNotStarted
	case errors.Is(err, ErrLeaseExpired):
		st.State = StateExpired
	}
}

// errCopies is why mode local has no reset.
var errCopies = errors.New("mode local: a copied process may have the same host name, disk and worker id as the original: give each copy a worker id of its own, or use a center")
