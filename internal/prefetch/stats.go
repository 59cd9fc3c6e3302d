package prefetch

import (
	"context"
	"errors"
	"time"

	"github.com/snowlease/snowlease/internal/fault"
)

// Stats describes the activity and the reserved numbers of an Issuer.
type Stats struct {
	Step                   int64 // of the last chunk
	Reservations, Failures int64 // answers of the store
	Reserved, Failed       time.Time
	Since                  time.Time // when the first attempt after the last success began, if it failed
	Err                    error     // of the last answer

	Given, Issued, Waits int64
	Next, AtHand         int64 // the next number, and how many are neither issued nor old
	Above                int64 // the greatest number from the store

	kind  int       // as last passed to Changed
	told  time.Time // when it was passed
	doubt bool      // the result of the last call is no evidence about the store
	asked time.Time // when the last call began whose result is evidence
}

// remindEvery is how often Changed is called while there are no numbers.
const remindEvery = 30 * time.Second

// patience is how long a caller must have waited for the end of its context to mean a slow store.
const patience = time.Second

// Call records the answer of a call of the store.
func (e *Issuer) Call(ctx context.Context, call func() error) error {
	began := time.Now()
	err := call()
	late := !e.Look && errors.Is(err, context.DeadlineExceeded) && time.Since(began) >= patience
	conclusive := err == nil || late || ctx.Err() == nil
	kind, dry := kindOf(err), err != nil && e.Stats().AtHand == 0
	e.mu.Lock()
	s := &e.stats
	if err == nil {
		s.Reservations++
		s.Reserved = time.Now()
	} else {
		s.Failures++
	}
	// Its caller has left, or a later call has found out more.
	if s.doubt = err != nil && began.Before(s.asked) || !conclusive && (e.Look || errors.Is(err, context.Canceled)); s.doubt {
		e.mu.Unlock()
		return err
	}
	if s.Err, s.asked = fault.Told(err), began; err != nil {
		s.Failed = time.Now()
	}
	told := err
	if kind == issuing {
		told = nil
		s.Since = time.Time{}
	} else if s.Since.IsZero() {
		s.Since = began
	}
	again := kind != issuing && dry && time.Since(s.told) >= remindEvery
	since, changed := s.Since, conclusive && (s.kind != kind || again)
	if changed {
		s.kind, s.told = kind, time.Now()
		e.news = append(e.news, func() { e.Changed(since, told) })
	}
	for changed = changed && len(e.news) == 1; changed; changed = len(e.news) > 0 { // in their order
		tell := e.news[0]
		e.mu.Unlock() // because a log handler may ask for Stats
		tell()
		e.mu.Lock()
		e.news = e.news[1:]
	}
	e.mu.Unlock()
	return err
}

// issued returns how many numbers of chunks were issued.
func (e *Issuer) issued() int64 {
	c := e.cur.Load()
	return c.prior + c.n - c.left() - e.dropped.Load()
}

// Stats returns a snapshot. It does no I/O.
func (e *Issuer) Stats() Stats {
	e.mu.Lock()
	s := e.stats
	e.mu.Unlock()
	s.Given, s.Issued, s.Waits, s.Above = e.given.Load(), e.issued()+e.direct.Load(), e.waits.Load(), e.above.Load()
	for c := e.cur.Load(); c != nil; c = c.next.Load() {
		left := c.left()
		if e.old(c) {
			continue
		}
		if s.Next == 0 && left > 0 {
			s.Next = c.base + c.n - left + 1
		}
		s.AtHand += left
	}
	return s
}
