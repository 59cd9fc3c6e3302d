package numbers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/lease"
)

// patience is how long a call must have waited before its timeout counts as a failure of the
// store.
const patience = time.Second

// stats are the results of the store so far.
type stats struct {
	reservations, failures int64
	reserved, failed       time.Time // the last success and failure
	since                  time.Time // the first failure since the last success
	err                    error     // the last error, or nil after a success
}

// count records the result of a request that began at a time. It ignores errors that concern only
// one scope or one caller.
func (s *Series) count(began time.Time, err error) {
	for _, own := range []error{ErrEnd, ErrUnknown, lease.ErrDamaged, context.Canceled} {
		if errors.Is(err, own) {
			return
		}
	}
	if errors.Is(err, context.DeadlineExceeded) && time.Since(began) < patience {
		return
	}
	if s.cfg.Gapless && err != nil && !errors.Is(err, lease.ErrSetup) { // the transaction may be the cause
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.err = fault.Told(err)
	if err == nil {
		s.stats.reservations++
		s.stats.reserved, s.stats.since = time.Now(), time.Time{}
		return
	}
	s.stats.failures++
	s.stats.failed = time.Now()
	if s.stats.since.IsZero() {
		s.stats.since = began
	}
}

// Healthy returns nil if the store provided numbers when it was last called, and otherwise the
// reason why it did not. An error counts for 10 s, because only calls query the store. Healthy does
// no I/O.
func (s *Series) Healthy() error {
	switch st := s.Status(); st.State {
	case StateReady:
		return nil
	case StateNotStarted:
		return s.wrap(generator.ErrNotStarted)
	case StateClosed:
		return s.wrap(ErrClosed)
	default:
		return s.wrap(fmt.Errorf("%w: %w", ErrUnavailable, st.Err))
	}
}

// Status returns the status of the series in this process, over all scopes. Strict is true.
// Next, Last and Remaining, which only sequences with prefetching have, are zero. Issued
// includes numbers of transactions that were rolled back. Status does no I/O.
func (s *Series) Status() Status {
	s.mu.Lock()
	now := s.stats
	s.mu.Unlock()
	st := Status{
		State: StateReady, Name: s.name, Strict: true, Store: s.storeName, Max: math.MaxInt64, Step: 1,
		Issued: s.issued.Load(), Reserved: now.reserved, Reservations: now.reservations, Failures: now.failures, FailingSince: now.since, Err: now.err,
	}
	if now.err != nil {
		st.Error = now.err.Error()
	}
	switch {
	case s.closed.Load():
		st.State = StateClosed
	case !s.started.Load():
		st.State = StateNotStarted
	case now.err != nil && time.Since(now.failed) < doubt:
		st.State = StateWaiting
	}
	return st
}
