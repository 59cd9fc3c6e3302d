package counter

import (
	"errors"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/lease"
)

// Status is a snapshot of a Counter.
type Status = snowlease.Sequence

// Status returns a snapshot. It does no I/O.
func (c *Counter) Status() Status {
	of := c.of.Stats()
	st := Status{
		Namespace: c.cfg.Namespace, Center: c.conn.String(), Layout: c.cfg.Layout.String(), Worker: c.cfg.Worker, Strict: c.cfg.Prefetch == 1,
		Calls: c.calls.Load(), Reserved: of.Given, Issued: of.Issued, Block: of.Step, AtHand: of.AtHand, FailingSince: of.Since, Err: of.Err,
	}
	if of.Above > 0 {
		st.Last = c.cfg.Layout.TickTime(of.Above >> c.seqBits)
	}
	if st.Err != nil {
		st.Error = st.Err.Error()
		var q *lease.QuarantineError
		if errors.As(st.Err, &q) {
			st.Quarantine = printable.Time(q.Until.UnixMilli())
		}
	}
	return st
}

// Err returns why the Counter cannot issue ids, as far as it can tell without a call of Redis, or
// nil. A burst that has used up MaxAhead is not an error.
//
// It returns generator.ErrNotStarted, generator.ErrClosed, or the error of the last call.
func (c *Counter) Err() error {
	state := c.of.Standing()
	if err := c.of.Stats().Err; state == nil && !errors.Is(err, generator.ErrExhausted) {
		return err
	}
	return state
}

// String returns the name of the server, without user and password.
func (c *Counter) String() string { return c.conn.String() }

// Warnings returns warnings about properties of the client that New could not check, for the log.
func (c *Counter) Warnings() []string { return c.conn.Warnings() }
