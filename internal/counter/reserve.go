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

func (e *exhaustedError) Error() string       { return generator.ErrExhausted.Error() }
func (e *exhaustedError) Unwrap() error       { return generator.ErrExhausted }
func (e *exhaustedError) Wait() time.Duration { return max(e.wait, time.Millisecond) }

// run reserves 1 to n consecutive values above a value, in one call, or none if n is 0. A value is
// tick<<SequenceBits | sequence. run refuses values that the script cannot have returned for this
// call. off limits how far the clock of Redis may be from this host's, unless it is 0.
func (c *Counter) run(ctx context.Context, n, above int64, off time.Duration) (numberstore.Range, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	c.calls.Add(1)
	call, host := c.call, c.wall()
	call.Args = append([]any{c.pin, n, above >> c.seqBits, above & c.seqMask, host.UnixMicro(), off.Microseconds()}, c.args...)
	call.Waits = n > 0
	call.Answer = func(r redisconn.Reply) error { return c.answer(r, host) }
	got := numberstore.Range{First: 1} // none
	call.Read = func(r redisconn.Reply) error {
		var tick, seq, count int64
		if err := r.Ints(&tick, &seq, &count); err != nil || n == 0 {
			return err
		}
		first := tick<<c.seqBits | seq
		if tick < 0 || tick > c.last || seq < 0 || seq > c.seqMask || first <= above || count < 1 || count > n {
			return fmt.Errorf("%w: the reply gives %d values starting at %d.%d, but the request was for %d above %d", lease.ErrDamaged, count, tick, seq, n, above)
		}
		got = numberstore.Range{First: first, Last: first + count - 1}
		return nil
	}
	err := c.conn.Run(ctx, call)
	if errors.Is(err, redis.ErrClosed) && errors.Is(c.of.Standing(), generator.ErrClosed) {
		err = generator.ErrClosed // Close closed the client
	}
	return got, err
}

// answer returns the error that a reply stands for, or nil if unknown.
func (c *Counter) answer(r redisconn.Reply, host time.Time) error {
	var n, until int64
	switch {
	case r[0] == "EXHAUSTED" && r.Ints(&n) == nil:
		return &exhaustedError{time.Duration(min(n, math.MaxInt64/1000)) * time.Microsecond}
	case r[0] == "TIME" && r.Ints(&n) == nil:
		return c.wrap(fmt.Errorf("%w (%s): it is %s", errTimeField, c.cfg.Layout, time.UnixMilli(n).UTC().Format(time.RFC3339)))
	case r[0] == "QUARANTINE" && len(r) == 4 && r[:3].Ints(&n, &until) == nil:
		return &lease.QuarantineError{Namespace: c.cfg.Namespace, Reason: printable.Text(r[3]), Now: time.UnixMilli(n), Until: time.UnixMilli(until)}
	case r[0] == "MISMATCH" && len(r) == 2:
		return &lease.MismatchError{Namespace: c.cfg.Namespace, Stored: lease.ParsePin(r[1]), Asked: lease.ParsePin(c.pin)}
	case r[0] == "CLOCK" && r.Ints(&n) == nil:
		return &lease.ClockError{Namespace: c.cfg.Namespace, Center: time.UnixMilli(n), Local: host}
	}
	return nil
}

func (c *Counter) wrap(err error) error { return c.conn.Wrap(c.call.Verb, c.call.Name, err) }

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
