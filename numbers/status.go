package numbers

import (
	"errors"
	"fmt"
	"time"

	"github.com/snowlease/snowlease/internal/generator"
)

// State is the state of a Segment.
type State string

// The states of a Segment.
const (
	StateNotStarted State = "not_started"
	StateReady      State = "ready"   // has prefetched numbers, or the store has not failed
	StateWaiting    State = "waiting" // no number is prefetched, and the store's last result was an error; in strict order within the last 10 s
	StateEnded      State = "ended"   // no number up to SegmentConfig.Max is left
	StateClosed     State = "closed"
)

// doubt is how long an error in strict order means StateWaiting. Only calls query the store
// then, and a readiness that stayed false would keep calls away.
const doubt = 10 * time.Second

// Status describes a Segment at one moment.
type Status struct {
	State  State  `json:"state"`
	Name   string `json:"name"`   // SegmentConfig.Namespace, a slash and SegmentConfig.Name
	Strict bool   `json:"strict"` // each number is a query of the store: SegmentConfig.Strict, or a Series
	Store  string `json:"store"`  // the name of the store
	// Next is the number that Next will return, or 0 if none is prefetched.
	Next int64 `json:"next"`
	// Last is the greatest number from the store, or 0 before the first one.
	Last int64 `json:"last"`
	// Max is SegmentConfig.Max.
	Max int64 `json:"max"`
	// Remaining is how many numbers are prefetched.
	Remaining int64 `json:"remaining"`
	// Step is the size of the last segment, without numbers added for waiting callers. Before
	// the first segment, it is SegmentConfig.Step.
	Step int64 `json:"step"`
	// Issued counts the numbers issued. It includes numbers that calls discarded because of
	// Reset.
	Issued int64 `json:"issued"`
	// Reserved is when the store last provided numbers, by the clock of this host.
	Reserved time.Time `json:"reserved,omitzero"`
	// Reservations counts the successful requests to the store, Failures the failed ones.
	Reservations int64 `json:"reservations"`
	Failures     int64 `json:"failures"`
	// Waits counts the calls that had to wait for the store.
	Waits int64 `json:"waits"`
	// FailingSince is when the first attempt after the last success began, if it failed, by
	// the clock of this host. It is zero while the store provides numbers, and after Close.
	FailingSince time.Time `json:"failing_since,omitzero"`
	// Err is the error of the last request to the store, or nil after a success.
	Err error `json:"-"`
	// Error is the text of Err.
	Error string `json:"error,omitempty"`
}

func nameOf(store Store) string {
	if named, ok := store.(fmt.Stringer); ok {
		return named.String()
	}
	return fmt.Sprintf("%T", store)
}

// Status returns the status of the Segment. It does no I/O.
func (i *Segment) Status() Status {
	s := i.of.Stats()
	st := Status{
		State: StateReady, Name: i.cfg.key(), Strict: i.cfg.Strict, Store: nameOf(i.store), Next: s.Next, Last: s.Above, Max: i.cfg.Max, Remaining: s.AtHand,
		Step: s.Step, Issued: s.Issued, Reserved: s.Reserved,
		Reservations: s.Reservations, Failures: s.Failures, Waits: s.Waits, FailingSince: s.Since, Err: s.Err,
	}
	if s.Err != nil {
		st.Error = s.Err.Error()
	}
	// A store that has not responded yet has not failed.
	switch waiting := st.Remaining == 0 && s.Err != nil; {
	case errors.Is(i.of.Standing(), generator.ErrNotStarted):
		st.State = StateNotStarted
	case errors.Is(i.of.Standing(), ErrClosed):
		st.State, st.FailingSince = StateClosed, time.Time{}
	case waiting && errors.Is(s.Err, ErrEnd):
		st.State = StateEnded
	case waiting && (!i.cfg.Strict || time.Since(s.Failed) < doubt):
		st.State = StateWaiting
	}
	return st
}

// Healthy returns nil if Next issues numbers, and otherwise the reason why it does not. In
// strict order, where only calls query the store, an error other than ErrEnd counts for 10 s.
// Healthy does no I/O.
func (i *Segment) Healthy() error {
	if st := i.Status(); st.State == StateWaiting || st.State == StateEnded {
		return unavailable(st.Err)
	}
	return i.of.Standing()
}
