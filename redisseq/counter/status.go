package counter

import (
	"errors"
	"time"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// Status is what a Counter knows at a moment.
type Status struct {
	Namespace string `json:"namespace"`
	Center    string `json:"center"`
	Layout    string `json:"layout"`
	Worker    int64  `json:"worker"`
	Strict    bool   `json:"strict"` // ids rise across processes
	// Calls counts the calls of Redis, Reserved the ids that they gave, Issued those
	// that were issued.
	Calls    int64 `json:"calls"`
	Reserved int64 `json:"reserved"`
	Issued   int64 `json:"issued"`
	// Block is how many ids a call asks for at the present rate.
	Block int64 `json:"block"`
	// AtHand is how many ids are reserved and not issued. They may be too old by now.
	AtHand int64 `json:"at_hand"`
	// Last is the tick of the last id that was reserved, zero before the first.
	Last time.Time `json:"last,omitzero"`
	// Quarantine is when the quarantine ends that the last call met, by the clock of
	// Redis; zero: it met none.
	Quarantine time.Time `json:"quarantine,omitzero"`
	// Err is the error of the last call, nil after a success.
	Err error `json:"-"`
	// Error is Err as a text.
	Error string `json:"error,omitempty"`
}

// Status returns what the Counter knows. It does no I/O.
func (c *Counter) Status() Status {
	st := Status{
		Namespace: c.cfg.Namespace, Center: c.conn.String(), Layout: c.cfg.Layout.String(), Worker: c.cfg.Worker, Strict: c.strict,
		Calls: c.calls.Load(), Reserved: c.given.Load(), Err: c.outcome.Load().err,
	}
	c.mu.Lock()
	st.Issued, st.Block = c.issued(), c.size
	b := c.cur.Load()
	st.AtHand = max(0, b.n-b.used.Load())
	if c.next != nil {
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
			st.Quarantine = q.Until
		}
	}
	return st
}

// Err returns why NextID would issue nothing at this moment, as far as is known
// without asking Redis, or nil. A burst that has used up its lead is no reason.
//
// Errors: snowflake.ErrNotStarted, snowflake.ErrStopped, that of the last call.
func (c *Counter) Err() error {
	state := c.standing()
	if err := c.outcome.Load().err; state == nil && !errors.Is(err, snowflake.ErrExhausted) {
		return err
	}
	return state
}

// Layout returns the layout of the ids, its defaults filled in.
func (c *Counter) Layout() snowflake.Layout { return c.cfg.Layout }

// String names the Redis, without user or password.
func (c *Counter) String() string { return c.conn.String() }

// Warnings returns what New could not check about the client, to be logged.
func (c *Counter) Warnings() []string { return c.conn.Warnings() }
