package redisseq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/lease"
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
func (s *Sequence) reserve(ctx context.Context, n int64) (first, got int64, err error) {
	return s.call(ctx, n, time.Time{})
}

// call runs the script. n 0 only looks; a caller that is not zero may be vetoed.
func (s *Sequence) call(ctx context.Context, n int64, caller time.Time) (first, got int64, err error) {
	bounded, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	s.calls.Add(1)
	known := s.known.Load()
	if first, got, err = s.run(bounded, n, known, caller); err == nil && n > 0 {
		err = s.admit(known, n, first, got)
	}
	if ctx.Err() != nil { // a caller's impatience says nothing of Redis
		s.doubt.Store(true)
	} else {
		s.conclude(err)
	}
	if err != nil {
		return 0, 0, err
	}
	return first, got, nil
}

// admit refuses values that the script cannot have given: a reply may be another's.
func (s *Sequence) admit(known, n, first, got int64) error {
	if first <= known || got < 1 || got > n {
		return s.wrap(fmt.Errorf("%w: %d values from %d on were given where %d above %d were asked for", ErrDamaged, got, first, n, known))
	}
	for seen := s.known.Load(); first+got-1 > seen && !s.known.CompareAndSwap(seen, first+got-1); seen = s.known.Load() {
	}
	s.given.Add(got)
	return nil
}

func (s *Sequence) run(ctx context.Context, n, known int64, caller time.Time) (first, got int64, err error) {
	local := int64(0)
	if !caller.IsZero() {
		local = caller.UnixMicro()
	}
	keys := []string{s.key()}
	args := append([]any{s.pin, n, known >> s.seqBits, known & s.seqMask, string(s.center.quarantine), local}, s.args...)
	replicas := s.center.replicas
	if n == 0 {
		replicas = 0
	}
	out, err := within(ctx, func() (out answered, err error) {
		if replicas > 0 {
			out, err = s.center.runAndWait(ctx, s.script, keys, args)
		} else {
			out.reply, err = s.script.Run(ctx, s.center.client, keys, args...).Result()
		}
		s.center.refresh(ctx, err)
		return out, err
	})
	if err != nil {
		return 0, 0, s.wrap(s.translate(err))
	}
	r, err := parse(out.reply)
	if err != nil {
		return 0, 0, s.wrap(err)
	}
	if err := s.verdict(r, caller); err != nil {
		return 0, 0, err
	}
	if out.replicas < int64(replicas) {
		return 0, 0, s.wrap(fmt.Errorf("%w: %d of %d", ErrNotReplicated, out.replicas, replicas))
	}
	var tick, seq int64
	if err := r.ints(&tick, &seq, &got); err != nil {
		return 0, 0, s.wrap(err)
	}
	if tick < 0 || tick > s.last || seq < 0 || seq > s.seqMask {
		return 0, 0, s.wrap(r.unknown())
	}
	return tick<<s.seqBits | seq, got, nil
}

// verdict returns the error that a reply stands for, nil for OK.
func (s *Sequence) verdict(r reply, caller time.Time) error {
	var n int64
	switch {
	case r[0] == "MISMATCH" && len(r) == 2:
		return &lease.MismatchError{Namespace: s.cfg.Namespace, Stored: r[1], Asked: s.pin}
	case r[0] == "EXHAUSTED" && r.ints(&n) == nil:
		return &exhaustedError{time.Duration(min(n, math.MaxInt64/1000)) * time.Microsecond}
	case r[0] == "TIME" && r.ints(&n) == nil:
		return s.wrap(fmt.Errorf("%w (%s): it is %s", ErrTimeField, s.cfg.Layout, ms(n).UTC().Format(time.RFC3339)))
	}
	err := r.answer(lease.Request{Namespace: s.cfg.Namespace, Local: caller.UnixMilli()})
	var q *lease.QuarantineError
	switch {
	case errors.As(err, &q):
		return &quarantinedError{q}
	case err != nil:
		return err
	}
	if err := r.fault(); err != nil {
		return s.wrap(err)
	}
	return nil
}

func (s *Sequence) key() string { return s.center.prefix + ":{" + s.cfg.Namespace + "}:sequence" }

// translate makes an error of the server or the client readable.
func (s *Sequence) translate(err error) error {
	remedy := "give the key " + s.key() + " another prefix if it is not snowlease's; if it is, delete it: ids wait for the end of a quarantine"
	text := err.Error()
	if m := shown.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("%w: %s: %s", ErrDamaged, m[1], remedy)
	}
	switch {
	case strings.Contains(text, "WRONGTYPE"):
		return fmt.Errorf("%w: the key is of another type: %s: %w", ErrDamaged, remedy, err)
	case redis.IsReadOnlyError(err) || strings.Contains(text, "READONLY"):
		return fmt.Errorf("%w: %w", ErrReplica, err)
	}
	return err
}

func (s *Sequence) wrap(err error) error {
	return fmt.Errorf("redisseq: sequence of %q at %s: %w", s.cfg.Namespace, s.center, err)
}

// try repeats attempt for as long as its error may pass, within ctx.
func (s *Sequence) try(ctx context.Context, attempt func(context.Context) error) error {
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
		case <-s.halted:
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
	return errors.As(err, &mismatch) || errors.As(err, &clock) || errors.Is(err, lease.ErrSetup) || errors.Is(err, ErrDamaged) ||
		errors.Is(err, snowflake.ErrNotStarted) || errors.Is(err, snowflake.ErrStopped)
}
