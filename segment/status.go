package segment

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// State is where an Issuer stands.
type State string

// The states.
const (
	StateReady   State = "ready"   // has numbers at hand, or asks the store for each
	StateWaiting State = "waiting" // what was prefetched is used up, the store fails
	StateEnded   State = "ended"   // no number is left up to Config.Max
	StateClosed  State = "closed"
)

// Status is what an Issuer knows at a moment.
type Status struct {
	State State  `json:"state"`
	Name  string `json:"name"`
	Order string `json:"order"`
	Store string `json:"store"`
	// Next is the number that NextID returns next, 0 where none is at hand.
	Next int64 `json:"next"`
	// Last is the greatest number that the store gave, 0 before the first.
	Last int64 `json:"last"`
	// Max is the greatest number there may be: that of Config.
	Max int64 `json:"max"`
	// Remaining is how many numbers are at hand.
	Remaining int64 `json:"remaining"`
	// Step is how many numbers the last segment had, or the first will have.
	Step int64 `json:"step"`
	// Issued counts the numbers issued.
	Issued int64 `json:"issued"`
	// Reserved is when the store last gave numbers, by this host's clock.
	Reserved time.Time `json:"reserved,omitzero"`
	// Reservations counts the answers with numbers, Failures those without.
	Reservations int64 `json:"reservations"`
	Failures     int64 `json:"failures"`
	// Waits counts the calls that had to wait for the store.
	Waits int64 `json:"waits"`
	// Err is the error of the store's last answer, nil after a success.
	Err error `json:"-"`
	// Error is Err as a text.
	Error string `json:"error,omitempty"`
}

type stats struct {
	step, reservations, failures int64
	reserved                     time.Time
	err                          error
	failing                      bool // as the log has it
}

// count notes an answer of the store, and logs a change where it says something of the
// store.
func (i *Issuer) count(err error, says bool) {
	i.mu.Lock()
	i.stats.err = err
	if err != nil {
		i.stats.failures++
	} else {
		i.stats.reservations++
		i.stats.reserved = time.Now()
	}
	changed := says && i.stats.failing != (err != nil)
	if changed {
		i.stats.failing = err != nil
	}
	i.mu.Unlock()
	if changed { // without the lock: a handler may ask for the Status
		i.tell(err)
	}
}

func (i *Issuer) storeName() string {
	if named, ok := i.store.(fmt.Stringer); ok {
		return named.String()
	}
	return fmt.Sprintf("%T", i.store)
}

// Status returns what the Issuer knows. It does no I/O.
func (i *Issuer) Status() Status {
	i.mu.Lock()
	s := i.stats
	i.mu.Unlock()
	st := Status{
		State: StateReady, Name: i.cfg.Name, Order: i.cfg.Order, Store: i.storeName(), Last: i.above.Load(), Max: i.cfg.Max,
		Step: s.step, Issued: i.consumed() + i.direct.Load(), Reserved: s.reserved,
		Reservations: s.reservations, Failures: s.failures, Waits: i.waits.Load(), Err: s.err,
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
	// A store that has not answered yet has not failed either.
	switch waiting := st.Remaining == 0 && s.err != nil; {
	case errors.Is(i.turn.Load().err, ErrClosed):
		st.State = StateClosed
	case waiting && errors.Is(s.err, ErrEnd):
		st.State = StateEnded
	case waiting:
		st.State = StateWaiting
	}
	return st
}

// Healthy returns nil while NextID issues numbers, or why it does not.
func (i *Issuer) Healthy(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("segment: healthy: %w", err)
	}
	switch st := i.Status(); st.State {
	case StateReady:
		return nil
	case StateClosed:
		return ErrClosed
	default:
		return unavailable(st.Err)
	}
}

// Ready reports whether NextID issues numbers.
func (i *Issuer) Ready() bool { return i.Status().State == StateReady }
