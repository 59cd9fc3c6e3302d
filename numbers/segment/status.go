package segment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowlease/snowlease/internal/fault"
)

// State is the state of an Issuer.
type State string

// The states of an Issuer.
const (
	StateNotStarted State = "not_started"
	StateReady      State = "ready"   // has prefetched numbers, or the store has not failed
	StateWaiting    State = "waiting" // no number is prefetched, and the last answer of the store was an error; in strict order within the last 10 s
	StateEnded      State = "ended"   // no number up to Config.Max is left
	StateClosed     State = "closed"
)

// doubt is how long an error in strict order means StateWaiting. Only calls ask the store
// then, and readiness that stayed false would keep calls away.
const doubt = 10 * time.Second

// Status describes an Issuer at one moment.
type Status struct {
	State State  `json:"state"`
	Name  string `json:"name"`  // Config.Name
	Order Order  `json:"order"` // Config.Order
	Store string `json:"store"` // the name of the store
	// Next is the number that NextID will return, or 0 if none is prefetched.
	Next int64 `json:"next"`
	// Last is the greatest number from the store, or 0 before the first.
	Last int64 `json:"last"`
	// Max is Config.Max.
	Max int64 `json:"max"`
	// Remaining is how many numbers are prefetched.
	Remaining int64 `json:"remaining"`
	// Step is the size of the last segment, or of the first one if there is none yet.
	Step int64 `json:"step"`
	// Issued counts the numbers issued. It includes the first ones of calls that Reset made
	// start again.
	Issued int64 `json:"issued"`
	// Reserved is when the store last provided numbers, by the clock of this host.
	Reserved time.Time `json:"reserved,omitzero"`
	// Reservations counts the successful answers of the store, Failures the others.
	Reservations int64 `json:"reservations"`
	Failures     int64 `json:"failures"`
	// Waits counts the calls that had to wait for the store.
	Waits int64 `json:"waits"`
	// FailingSince is when the first attempt after the last success began, if it failed, by
	// the clock of this host. It is zero while the store provides numbers, and after Close.
	FailingSince time.Time `json:"failing_since,omitzero"`
	// Err is the error of the last answer of the store, or nil after a success.
	Err error `json:"-"`
	// Error is the text of Err.
	Error string `json:"error,omitempty"`
}

type stats struct {
	step, reservations, failures int64
	reserved, failed             time.Time // the last success and failure
	since                        time.Time // Status.FailingSince
	err                          error
	failing                      bool // as last logged
}

// count records an answer of the store to an attempt that began at a time. It logs a change
// if conclusive, which says that the answer reflects the state of the store.
func (i *Issuer) count(began time.Time, err error, conclusive bool) {
	i.mu.Lock()
	if !conclusive && errors.Is(err, context.Canceled) { // its caller has left
		i.stats.failures++
		i.mu.Unlock()
		return
	}
	i.stats.err = fault.Told(err)
	if err != nil {
		i.stats.failures++
		i.stats.failed = time.Now()
		if i.stats.since.IsZero() {
			i.stats.since = began
		}
	} else {
		i.stats.reservations++
		i.stats.reserved, i.stats.since = time.Now(), time.Time{}
	}
	changed := conclusive && i.stats.failing != (err != nil)
	if changed {
		i.stats.failing = err != nil
	}
	since := i.stats.since
	i.mu.Unlock()
	if changed { // without the lock, because a log handler may call Status
		i.logChange(since, err)
	}
}

func (i *Issuer) storeName() string {
	if named, ok := i.store.(fmt.Stringer); ok {
		return named.String()
	}
	return fmt.Sprintf("%T", i.store)
}

// Status returns the status of the Issuer. It does no I/O.
func (i *Issuer) Status() Status {
	i.mu.Lock()
	s := i.stats
	i.mu.Unlock()
	st := Status{
		State: StateReady, Name: i.cfg.Name, Order: i.cfg.Order, Store: i.storeName(), Last: i.above.Load(), Max: i.cfg.Max,
		Step: s.step, Issued: i.consumed() + i.direct.Load(), Reserved: s.reserved,
		Reservations: s.reservations, Failures: s.failures, Waits: i.waits.Load(), FailingSince: s.since, Err: s.err,
	}
	if s.err != nil {
		st.Error = s.err.Error()
	}
	for c := i.cur.Load(); c != nil; c = c.next.Load() {
		left := c.left()
		if st.Next == 0 && left > 0 {
			st.Next = c.base + c.n - left + 1
		}
		st.Remaining += left
	}
	// A store that has not answered yet has not failed.
	switch waiting := st.Remaining == 0 && s.err != nil; {
	case errors.Is(i.turn.Load().err, ErrNotStarted):
		st.State = StateNotStarted
	case errors.Is(i.turn.Load().err, ErrClosed):
		st.State, st.FailingSince = StateClosed, time.Time{}
	case waiting && errors.Is(s.err, ErrEnd):
		st.State = StateEnded
	case waiting && (!i.strict() || time.Since(s.failed) < doubt):
		st.State = StateWaiting
	}
	return st
}

// Healthy returns nil if NextID issues numbers, and otherwise the reason why it does
// not. In strict order, where only calls ask the store, an error other than ErrEnd counts for
// 10 s. Healthy does no I/O. If ctx has ended, it returns the error of ctx.
func (i *Issuer) Healthy(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("segment: healthy: %w", err)
	}
	switch st := i.Status(); st.State {
	case StateReady:
		return nil
	case StateNotStarted, StateClosed:
		return i.turn.Load().err
	default:
		return unavailable(st.Err)
	}
}
