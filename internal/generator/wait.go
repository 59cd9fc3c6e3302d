package generator

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// nextSlow is NextID after take has failed once.
func (g *Generator) nextSlow(business int64) (int64, error) {
	for slept := false; ; {
		v, n, t := g.take(1)
		if n == 1 {
			return g.id(t, v) | business, nil
		}
		err := g.why(t, v)
		if err != nil && (slept || !errors.Is(err, ErrExhausted)) {
			return 0, err
		}
		if err == nil { // a swap ends within a few instructions
			runtime.Gosched()
			continue
		}
		g.waits.Add(1)
		time.Sleep(min(g.until(t, v), time.Duration(g.unit)))
		slept = true
	}
}

// await returns when a retry may succeed, or an error.
func (g *Generator) await(ctx context.Context, t *term, v int64) error {
	var moved <-chan time.Time
	err := g.why(t, v)
	switch {
	case err == nil: // as in nextSlow
		runtime.Gosched()
		return nil
	case errors.Is(err, ErrExhausted):
		timer := time.NewTimer(g.until(t, v))
		defer timer.Stop()
		moved = timer.C
	case errors.Is(err, ErrLeaseExpired), t.dropped():
	default:
		return err
	}
	g.waits.Add(1)
	select {
	case <-moved:
		return nil
	case <-t.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", err, context.Cause(ctx))
	}
}

// dropped reports whether t follows the Drop of a range. Another range is then on its way,
// unlike before the first one, when the caller may be what delays the start.
func (t *term) dropped() bool { return t.state == notStarted && t.pacer != (pacer{}) }

// why returns the reason why t does not allow the value v, or nil while a swap is under
// way.
func (g *Generator) why(t *term, v int64) error {
	switch {
	case t.state == swapping:
		return nil
	case t.state == stopped:
		return ErrStopped
	case t.state == notStarted:
		return ErrNotStarted
	case v > t.hi:
		return ErrLeaseExpired
	}
	return ErrExhausted
}

// Err returns why NextID would fail now, or nil. It ignores a burst that has used up
// its lead.
//
// Errors: ErrNotStarted, ErrLeaseExpired, ErrStopped.
func (g *Generator) Err() error {
	t := g.term.Load()
	if t.state == held && max(g.last.Load()+1, g.tick(t, g.mono())<<g.seqBits) <= t.hi {
		return nil
	}
	return g.why(t, t.hi+1)
}
