package counter

import (
	"errors"
	"time"

	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// Status is a snapshot of a Counter.
type Status struct {
	Namespace string `json:"namespace"`
	Center    string `json:"center"` // the name of the server
	Layout    string `json:"layout"` // the layout's fingerprint
	Worker    int64  `json:"worker"`
	Strict    bool   `json:"strict"` // Prefetch is 1: ids ascend across processes
	// Calls is the number of calls of Redis, Reserved the number of ids that they
	// reserved, and Issued the number of ids issued, with the first ones of calls that Reset
	// made start again.
	Calls    int64 `json:"calls"`
	Reserved int64 `json:"reserved"`
	Issued   int64 `json:"issued"`
	// Block is how many ids a call requests at the current rate.
	Block int64 `json:"block"`
	// AtHand is how many ids are reserved, not issued, and not older than Config.MaxAge.
	AtHand int64 `json:"at_hand"`
	// Last is the time of the last reserved id, or zero before the first.
	Last time.Time `json:"last,omitzero"`
	// Quarantine is the end of the quarantine that the last call met, by the clock of
	// Redis. It is zero if there was none.
	Quarantine time.Time `json:"quarantine,omitzero"`
	// FailingSince is when the first call after the last success began, if it failed, by
	// this host's clock. It is zero while Redis reserves ids.
	FailingSince time.Time `json:"failing_since,omitzero"`
	// Err is the error of the last call, or nil if it succeeded.
	Err error `json:"-"`
	// Error is the text of Err.
	Error string `json:"error,omitempty"`
}

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
// Errors are snowflake.ErrNotStarted, snowflake.ErrStopped, and that of the last call.
func (c *Counter) Err() error {
	state := c.standing()
	if err := c.outcome.Load().err; state == nil && !errors.Is(err, snowflake.ErrExhausted) {
		return err
	}
	return state
}

// String returns the name of the server, without user and password.
func (c *Counter) String() string { return c.conn.String() }

// Warnings returns what New could not check about the client, for the log.
func (c *Counter) Warnings() []string { return c.conn.Warnings() }
