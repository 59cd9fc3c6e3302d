package numbers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/lease"
)

// patience is how long a call must have waited before its timeout counts as a failure of the
// store.
const patience = time.Second

// answered records the result of a request that began at a time. It ignores errors that concern only
// one scope or one caller.
func (s *Series) answered(began time.Time, err error) {
	for _, own := range []error{ErrEnd, ErrUnknown, lease.ErrDamaged, context.Canceled} {
		if errors.Is(err, own) {
			return
		}
	}
	early := errors.Is(err, context.DeadlineExceeded) && time.Since(began) < patience
	if early || s.cfg.Gapless && err != nil && !errors.Is(err, lease.ErrSetup) { // the transaction may be the cause
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.status
	if st.Err, st.Error = fault.Told(err), ""; err == nil {
		st.Reservations++
		st.Reserved, st.FailingSince = time.Now(), time.Time{}
		return
	}
	st.Error = st.Err.Error()
	st.Failures++
	s.failed = time.Now()
	if st.FailingSince.IsZero() {
		st.FailingSince = began
	}
}

func (s *Series) count(issued int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Issued += int64(issued)
}

// Healthy returns nil if the store provided numbers when it was last called, and otherwise the
// reason why it did not. An error counts for 10 s, because only calls query the store. Healthy does
// no I/O.
func (s *Series) Healthy() error {
	if st := s.Status(); st.State == StateWaiting {
		return s.wrap(fmt.Errorf("%w: %w", ErrUnavailable, st.Err))
	}
	return s.wrap(s.ready(""))
}

// Status returns the status of the series in this process, over all scopes. Strict is true.
// Next, Last and Remaining, which only sequences with prefetching have, are zero. Issued
// includes numbers of transactions that were rolled back. Status does no I/O.
func (s *Series) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.status
	if st.State == StateReady && st.Err != nil && time.Since(s.failed) < doubt {
		st.State = StateWaiting
	}
	return st
}
