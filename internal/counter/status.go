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
	out := c.outcome.Load()
	st := Status{
		Namespace: c.cfg.Namespace, Center: c.conn.String(), Layout: c.cfg.Layout.String(), Worker: c.cfg.Worker, Strict: c.strict,
		Calls: c.calls.Load(), Reserved: c.given.Load(), FailingSince: out.since, Err: out.err,
	}
	c.mu.Lock()
	st.Issued, st.Block = c.issued(), c.size
	if b := c.cur.Load(); !c.old(b) {
		st.AtHand = max(0, b.n-b.used.Load())
	}
	if c.next != nil && !c.old(c.next) {
		st.AtHand += c.next.n
	}
	c.mu.Unlock()
	if known := c.known.Load(); known > 0 {
		st.Last = c.cfg.Layout.TickTime(known >> c.seqBits)
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

// Err returns why no ids can be issued, as far as is known without a call of Redis, or
// nil. A burst that has used up MaxAhead is not an error.
//
// Errors are generator.ErrNotStarted, generator.ErrStopped, and that of the last call.
func (c *Counter) Err() error {
	state := c.standing()
	if err := c.outcome.Load().err; state == nil && !errors.Is(err, generator.ErrExhausted) {
		return err
	}
	return state
}

// String returns the name of the server, without user and password.
func (c *Counter) String() string { return c.conn.String() }

// Warnings returns what New could not check about the client, for the log.
func (c *Counter) Warnings() []string { return c.conn.Warnings() }
