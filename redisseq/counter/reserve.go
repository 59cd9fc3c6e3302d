package counter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq"
	"github.com/snowlease/snowlease/redisseq/internal/conn"
	"github.com/snowlease/snowlease/snowflake"
)

// ErrTimeField is returned where the clock of Redis lies outside of the layout's time
// field.
var ErrTimeField = fmt.Errorf("redisseq: the server's clock is outside of the layout's time field: %w", lease.ErrSetup)

// callTime bounds one call of Redis, for a server that hangs.
const callTime = 2 * time.Second

// exhaustedError says how long it takes until the lead allows another id.
type exhaustedError struct{ wait time.Duration }

func (e *exhaustedError) Error() string { return snowflake.ErrExhausted.Error() }
func (e *exhaustedError) Unwrap() error { return snowflake.ErrExhausted }

// quarantinedError is a lease.QuarantineError whose text is about a sequence.
type quarantinedError struct{ cause *lease.QuarantineError }

func (e *quarantinedError) Unwrap() error { return e.cause }

func (e *quarantinedError) Error() string {
	return fmt.Sprintf("redisseq: the sequence of namespace %q is in quarantine for %v (until %s): %s; ids given out earlier may lie ahead of the clock",
		e.cause.Namespace, e.cause.Wait(), e.cause.Until.UTC().Format(time.RFC3339Nano), printable.Text(e.cause.Reason))
}

func inQuarantine(err error) bool {
	var q *lease.QuarantineError
	return errors.As(err, &q)
}

// reserve is one call that reserves up to n values, at least one. Values are
// tick<<SequenceBits | sequence, and follow each other.
func (c *Counter) reserve(ctx context.Context, n int64) (first, got int64, err error) {
	return c.call(ctx, n, time.Time{})
}

// call runs the script. n 0 only looks; a caller that is not zero may be vetoed.
func (c *Counter) call(ctx context.Context, n int64, caller time.Time) (first, got int64, err error) {
	bounded, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	c.calls.Add(1)
	known := c.known.Load()
	if first, got, err = c.run(bounded, n, known, caller); err == nil && n > 0 {
		err = c.admit(known, n, first, got)
	}
	if ctx.Err() != nil { // a caller's impatience says nothing of Redis
		c.doubt.Store(true)
	} else {
		c.conclude(err)
	}
	if err != nil {
		return 0, 0, err
	}
	return first, got, nil
}

// admit refuses values that the script cannot have given: a reply may be another'c.
func (c *Counter) admit(known, n, first, got int64) error {
	if first <= known || got < 1 || got > n {
		return c.wrap(fmt.Errorf("%w: %d values from %d on were given where %d above %d were asked for", redisseq.ErrDamaged, got, first, n, known))
	}
	for seen := c.known.Load(); first+got-1 > seen && !c.known.CompareAndSwap(seen, first+got-1); seen = c.known.Load() {
	}
	c.given.Add(got)
	return nil
}

func (c *Counter) run(ctx context.Context, n, known int64, caller time.Time) (first, got int64, err error) {
	local := int64(0)
	if !caller.IsZero() {
		local = caller.UnixMicro()
	}
	key := c.conn.Key(c.cfg.Namespace, "sequence")
	r, err := c.conn.Run(ctx, conn.Call{
		Verb: verb, Name: c.cfg.Namespace, Script: c.script, Keys: []string{key},
		Args:   append([]any{c.pin, n, known >> c.seqBits, known & c.seqMask, c.conn.Quarantine, local}, c.args...),
		Waits:  n > 0,
		Remedy: "give the key " + key + " another prefix if it is not snowlease's; if it is, delete it: ids wait for the end of a quarantine",
		Answer: func(r conn.Reply) (bool, error) {
			err := c.answer(r, caller)
			return err != nil, err
		},
	})
	if err != nil {
		return 0, 0, err
	}
	var tick, seq int64
	if err := r.Ints(&tick, &seq, &got); err != nil {
		return 0, 0, c.wrap(err)
	}
	if tick < 0 || tick > c.last || seq < 0 || seq > c.seqMask {
		return 0, 0, c.wrap(r.Unknown())
	}
	return tick<<c.seqBits | seq, got, nil
}

// answer returns the error that a reply stands for, nil for others.
func (c *Counter) answer(r conn.Reply, caller time.Time) error {
	var n int64
	switch {
	case r[0] == "EXHAUSTED" && r.Ints(&n) == nil:
		return &exhaustedError{time.Duration(min(n, math.MaxInt64/1000)) * time.Microsecond}
	case r[0] == "TIME" && r.Ints(&n) == nil:
		return c.wrap(fmt.Errorf("%w (%s): it is %s", ErrTimeField, c.cfg.Layout, time.UnixMilli(n).UTC().Format(time.RFC3339)))
	}
	err := r.Answer(lease.Request{Namespace: c.cfg.Namespace, Local: caller.UnixMilli()}, c.pin)
	var q *lease.QuarantineError
	if errors.As(err, &q) {
		return &quarantinedError{q}
	}
	return err
}

const verb = "sequence of"

func (c *Counter) wrap(err error) error { return c.conn.Wrap(verb, c.cfg.Namespace, err) }

// try repeats attempt for as long as its error may pass, within ctx.
func (c *Counter) try(ctx context.Context, attempt func(context.Context) error) error {
	var why error // there was nothing before ctx ended
	for delay := 20 * time.Millisecond; ; delay = min(2*delay, time.Second) {
		err := attempt(ctx)
		if err == nil || final(err) {
			return err
		}
		if ctx.Err() != nil {
			return ended(ctx, cmp.Or(why, err))
		}
		why = err
		wait := delay
		var exhausted *exhaustedError
		var quarantine *lease.QuarantineError
		switch {
		case errors.As(err, &exhausted):
			wait = max(exhausted.wait, time.Millisecond)
		case errors.As(err, &quarantine):
			wait = quarantine.Wait()
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-c.halted:
			timer.Stop()
			return snowflake.ErrStopped
		case <-ctx.Done():
			timer.Stop()
			return ended(ctx, err)
		}
	}
}

// ended adds to an error why ctx has ended.
func ended(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// final reports whether an error stays when the call is repeated.
func final(err error) bool {
	var mismatch *lease.MismatchError
	var clock *lease.ClockError
	return errors.As(err, &mismatch) || errors.As(err, &clock) || errors.Is(err, lease.ErrSetup) || errors.Is(err, redisseq.ErrDamaged) ||
		errors.Is(err, snowflake.ErrNotStarted) || errors.Is(err, snowflake.ErrStopped)
}
