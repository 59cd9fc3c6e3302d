package redisseq

import (
	"errors"
	"time"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// SequenceStatus is what a Sequence knows at a moment.
type SequenceStatus struct {
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

// Status returns what the Sequence knows. It does no I/O.
func (s *Sequence) Status() SequenceStatus {
	st := SequenceStatus{
		Namespace: s.cfg.Namespace, Center: s.center.String(), Layout: s.cfg.Layout.String(), Worker: s.cfg.Worker, Strict: s.strict,
		Calls: s.calls.Load(), Reserved: s.given.Load(), Err: s.outcome.Load().err,
	}
	s.mu.Lock()
	st.Issued, st.Block = s.issued(), s.size
	b := s.cur.Load()
	st.AtHand = max(0, b.n-b.used.Load())
	if s.next != nil {
		st.AtHand += s.next.n
	}
	s.mu.Unlock()
	if known := s.known.Load(); known > 0 {
		st.Last = s.cfg.Layout.TickTime(known >> s.seqBits)
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
func (s *Sequence) Err() error {
	state := s.standing()
	if err := s.outcome.Load().err; state == nil && !errors.Is(err, snowflake.ErrExhausted) {
		return err
	}
	return state
}

// Layout returns the layout of the ids, its defaults filled in.
func (s *Sequence) Layout() snowflake.Layout { return s.cfg.Layout }

// String names the Redis, without user or password.
func (s *Sequence) String() string { return s.center.String() }

// Warnings returns what NewSequence could not check about the client, to be logged.
func (s *Sequence) Warnings() []string { return s.center.Warnings() }
