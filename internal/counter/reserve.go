package counter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/internal/redisconn"
	"github.com/snowlease/snowlease/lease"
)

// errTimeField is returned if the clock of Redis is outside the layout's time field.
var errTimeField = fmt.Errorf("redisseq: the server's clock is outside the layout's time field: %w", lease.ErrSetup)

// callTime bounds one call of Redis, in case the server hangs.
const callTime = 2 * time.Second

// exhaustedError is generator.ErrExhausted with the time until another id is allowed.
type exhaustedError struct{ wait time.Duration }

func (e *exhaustedError) Error() string { return generator.ErrExhausted.Error() }
func (e *exhaustedError) Unwrap() error { return generator.ErrExhausted }

// quarantinedError is a lease.QuarantineError with a text about a sequence.
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

// reserve reserves 1 to n consecutive values in one call. A value is
// tick<<SequenceBits | sequence.
func (c *Counter) reserve(ctx context.Context, n int64) (first, got int64, err error) {
	return c.ask(ctx, n, time.Time{})
}

// ask runs the script. With n 0 it reserves nothing. caller is this host's clock, which
// the script compares with its own unless it is zero.
func (c *Counter) ask(ctx context.Context, n int64, caller time.Time) (first, got int64, err error) {
	bounded, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	c.calls.Add(1)
	began := time.Now()
	known := c.known.Load()
	if first, got, err = c.run(bounded, n, known, caller); err == nil && n > 0 {
		err = c.admit(min(known, c.known.Load()), n, first, got) // less if the script forgot it
	}
	if ctx.Err() != nil { // the caller gave up, which says nothing about Redis
		c.doubt.Store(true)
	} else {
		c.conclude(began, err)
	}
	if err != nil {
		return 0, 0, err
	}
	return first, got, nil
}

// admit refuses values that the script cannot have given for this call, because a proxy
// or client may mix up replies.
func (c *Counter) admit(known, n, first, got int64) error {
	if first <= known || got < 1 || got > n {
		return c.wrap(fmt.Errorf("%w: the reply gives %d values starting at %d, but the request was for %d above %d", lease.ErrDamaged, got, first, n, known))
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
	call := c.call
	call.Args = append([]any{c.pin, n, known >> c.seqBits, known & c.seqMask, string(c.conn.Quarantine), local}, c.args...)
	call.Args = append(call.Args, c.wall().UnixMicro())
	call.Waits = n > 0
	call.Answer = func(r redisconn.Reply) error { return c.answer(r, caller) }
	r, err := c.conn.Run(ctx, call)
	if err != nil {
		return 0, 0, err
	}
	var tick, seq, forget int64
	if err := r.Ints(&tick, &seq, &got, &forget); err != nil {
		return 0, 0, c.wrap(err)
	}
	if forget == 1 {
		c.known.CompareAndSwap(known, 0)
	}
	if tick < 0 || tick > c.last || seq < 0 || seq > c.seqMask {
		return 0, 0, c.wrap(r.Unknown())
	}
	return tick<<c.seqBits | seq, got, nil
}

// answer returns the error that a reply stands for, or nil if unknown.
func (c *Counter) answer(r redisconn.Reply, caller time.Time) error {
	var n int64
	switch {
	case r[0] == "EXHAUSTED" && r.Ints(&n) == nil:
		return &exhaustedError{time.Duration(min(n, math.MaxInt64/1000)) * time.Microsecond}
	case r[0] == "TIME" && r.Ints(&n) == nil:
		return c.wrap(fmt.Errorf("%w (%s): it is %s", errTimeField, c.cfg.Layout, time.UnixMilli(n).UTC().Format(time.RFC3339)))
	}
	err := r.Answer(lease.Request{Namespace: c.cfg.Namespace, Local: caller.UnixMilli()}, lease.ParsePin(c.pin))
	var q *lease.QuarantineError
	if errors.As(err, &q) {
		return &quarantinedError{q}
	}
	return err
}

func (c *Counter) wrap(err error) error { return c.conn.Wrap(c.call.Verb, c.call.Name, err) }

// try repeats attempt until it succeeds, its error is final, or ctx ends.
func (c *Counter) try(ctx context.Context, attempt func(context.Context) error) error {
	var why error // the last error before ctx ended
	for delay := 20 * time.Millisecond; ; delay = min(2*delay, time.Second) {
		err := attempt(ctx)
		if err == nil || c.final(err) {
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
		timer := time.NewTimer(min(wait, time.Second)) // the time may be put right meanwhile
		select {
		case <-timer.C:
		case <-c.halted:
			timer.Stop()
			return generator.ErrStopped
		case <-ctx.Done():
			timer.Stop()
			return ended(ctx, err)
		}
	}
}

// ended adds the cause of ctx to err.
func ended(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// final reports whether repeating the call cannot help. A Counter that has started outlives
// a change of its password or rights.
func (c *Counter) final(err error) bool {
	if (redis.IsAuthError(err) || redisconn.Denied(err)) && c.standing() == nil {
		return false
	}
	var mismatch *lease.MismatchError
	var clock *lease.ClockError
	return errors.As(err, &mismatch) || errors.As(err, &clock) || errors.Is(err, lease.ErrSetup) || errors.Is(err, lease.ErrDamaged) ||
		errors.Is(err, generator.ErrNotStarted) || errors.Is(err, generator.ErrStopped)
}
