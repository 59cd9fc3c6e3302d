package counter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/numberstore"
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

func inQuarantine(err error) bool {
	var q *lease.QuarantineError
	return errors.As(err, &q)
}

// reserve reserves 1 to n consecutive values above a value, in one call. A value is
// tick<<SequenceBits | sequence. If n is 0, reserve reserves nothing.
func (c *Counter) reserve(ctx context.Context, n, above int64) (numberstore.Range, error) {
	return c.run(ctx, n, above, time.Time{})
}

// run runs the script. It refuses values that the script cannot have returned for this call.
// caller is this host's clock, which the script compares with the clock of Redis unless it is
// zero.
func (c *Counter) run(ctx context.Context, n, above int64, caller time.Time) (numberstore.Range, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	c.calls.Add(1)
	local := int64(0)
	if !caller.IsZero() {
		local = caller.UnixMicro()
	}
	call := c.call
	call.Args = append([]any{c.pin, n, above >> c.seqBits, above & c.seqMask, !c.conn.Durable, local}, c.args...)
	call.Args = append(call.Args, c.wall().UnixMicro())
	call.Waits = n > 0
	call.Answer = func(r redisconn.Reply) error { return c.answer(r, caller) }
	none := numberstore.Range{First: 1}
	r, err := c.conn.Run(ctx, call)
	if errors.Is(err, redis.ErrClosed) && errors.Is(c.of.Standing(), generator.ErrClosed) {
		err = generator.ErrClosed // Close closed the client
	}
	if err != nil || n == 0 {
		return none, err
	}
	var tick, seq, got int64
	if err := r.Ints(&tick, &seq, &got); err != nil {
		return none, c.wrap(err)
	}
	first := tick<<c.seqBits | seq
	if tick < 0 || tick > c.last || seq < 0 || seq > c.seqMask || first <= above || got < 1 || got > n {
		return none, c.wrap(fmt.Errorf("%w: the reply gives %d values starting at %d.%d, but the request was for %d above %d", lease.ErrDamaged, got, tick, seq, n, above))
	}
	return numberstore.Range{First: first, Last: first + got - 1}, nil
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
	return r.Answer(lease.Request{Namespace: c.cfg.Namespace, CallerTime: caller.UnixMilli()}, lease.ParsePin(c.pin))
}

func (c *Counter) wrap(err error) error { return c.conn.Wrap(c.call.Verb, c.call.Name, err) }

// wait returns how long Redis issues no ids after err, or 0.
func wait(err error) time.Duration {
	var exhausted *exhaustedError
	var quarantine *lease.QuarantineError
	switch {
	case errors.As(err, &exhausted):
		return max(exhausted.wait, time.Millisecond)
	case errors.As(err, &quarantine):
		return quarantine.Wait()
	}
	return 0
}

// final reports whether repeating the call cannot help. A Counter that has started survives a
// change of its password or rights.
func (c *Counter) final(err error) bool {
	if (redis.IsAuthError(err) || redisconn.Denied(err)) && c.of.Standing() == nil {
		return false
	}
	var mismatch *lease.MismatchError
	var clock *lease.ClockError
	return errors.As(err, &mismatch) || errors.As(err, &clock) || errors.Is(err, lease.ErrSetup) || errors.Is(err, lease.ErrDamaged) ||
		errors.Is(err, generator.ErrNotStarted) || errors.Is(err, generator.ErrClosed)
}
