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
		g.doze(t, v)
		slept = true
	}
}

// doze sleeps for at most a tick, until t may allow v.
func (g *Generator) doze(t *term, v int64) {
	d := time.Duration(g.unit)
	if v <= t.hi {
		d = min(d, g.until(t, v))
	}
	select {
	case <-time.After(d):
	case <-t.ended:
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
	case errors.Is(err, ErrExhausted) && v <= t.hi:
		moved = time.After(g.until(t, v))
	case t.state == held:
	case t.state == notStarted && t.pacer != (pacer{}): // after a Drop, another range is on its way
	default: // also before the first range, when the caller itself may be delaying the start
		return err
	}
	g.waits.Add(1)
	select {
	case <-moved:
	case <-t.ended:
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", g.why(t, v), context.Cause(ctx))
	}
	return nil
}

// why returns the reason why t does not allow the value v, or nil during a swap.
func (g *Generator) why(t *term, v int64) error {
	switch {
	case t.state == swapping:
		return nil
	case t.state == stopped:
		return ErrClosed
	case t.state == notStarted:
		return ErrNotStarted
	case v > t.hi && (t.failing.Load() || g.tick(t, g.mono()) > t.hi>>g.seqBits):
		return ErrLeaseExpired
	}
	return ErrExhausted
}

// Err returns why NextID would fail now, or nil. It ignores a burst that has used up its
// lead, or the range while no renewal has failed.
//
// Errors: ErrNotStarted, ErrLeaseExpired, ErrClosed.
func (g *Generator) Err() error {
	t := g.term.Load()
	err := g.why(t, max(g.last.Load()+1, g.tick(t, g.mono())<<g.seqBits))
	if errors.Is(err, ErrExhausted) {
		return nil
	}
	return err
}
