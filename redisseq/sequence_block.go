package redisseq

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"

	"github.com/snowlease/snowlease/snowflake"
)

// A block is values that follow each other, reserved by one call.
//
// cur is used first, next after it: blocks are used in the order in which they were
// reserved. A block is retired before another takes its place, so that whoever still
// sees it takes nothing of it any more and values rise.
type block struct {
	first, n int64
	born     time.Duration
	used     atomic.Int64 // of n; more where callers came too late
}

// A flight is a reservation that callers wait for.
type flight struct {
	n    int64
	err  error // to be read when done is closed
	done chan struct{}
}

// grab takes up to want values of the current block: none where it is used up or old.
func (s *Sequence) grab(want int64) (first, n int64) {
	b := s.cur.Load()
	if b.n == 0 || s.old(b) {
		return 0, 0
	}
	at := b.used.Add(want) - want
	if n = min(want, b.n-at); n <= 0 {
		return 0, 0
	}
	if half := b.n / 2; at < half && at+n >= half {
		s.prefetch()
	}
	return b.first + at, n
}

func (s *Sequence) old(b *block) bool { return s.mono()-b.born > s.cfg.MaxAge }

// refill returns when there may be values to grab, or why there are none.
func (s *Sequence) refill(ctx context.Context, want int64) error {
	s.mu.Lock()
	if s.state != nil || s.turn() {
		defer s.mu.Unlock()
		return s.state
	}
	s.short += want
	f := s.flight
	if f == nil {
		f = s.launch(max(s.adapt(), min(s.short, maxCall)))
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.short -= want
		s.mu.Unlock()
	}()
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return s.wrap(errors.New("no reply in time"))
	}
}

// turn puts next in the place of a block that is used up or old, and reports whether
// there may be values to grab: next may be old too.
func (s *Sequence) turn() bool {
	b := s.cur.Load()
	if b.used.Load() < b.n && !s.old(b) {
		return true
	}
	next := s.next
	s.next = nil
	if next == nil {
		return false
	}
	s.retire(b)
	s.cur.Store(next)
	return true
}

// retire lets nobody take anything of b any more.
func (s *Sequence) retire(b *block) {
	s.used += min(b.used.Swap(math.MaxInt64/2), b.n)
}

// drop forgets all that was reserved and not issued.
func (s *Sequence) drop() {
	s.retire(s.cur.Load())
	s.cur.Store(&block{})
	s.next = nil
}

// prefetch reserves the next block in the background, unless it would be of one id,
// which is fetched when it is asked for: so an id at a low rate is as fresh as can be.
func (s *Sequence) prefetch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != nil || s.flight != nil || s.next != nil {
		return
	}
	if n := s.adapt(); n > 1 {
		s.launch(n)
	}
}

// launch has values reserved by the goroutine, which has nothing else to do.
func (s *Sequence) launch(n int64) *flight {
	s.flight = &flight{n: n, done: make(chan struct{})}
	s.asked <- s.flight
	return s.flight
}

// adapt sets the size of a block by the use of ids since it was set before.
func (s *Sequence) adapt() int64 {
	now, used := s.mono(), s.issued()
	s.size = blockSize(s.size, used-s.sizedAt, now-s.sized, s.cfg.MaxAge/8, s.cfg.Prefetch)
	s.sized, s.sizedAt = now, used
	return s.size
}

// blockSize returns how many ids are used within cover at the rate of used within in,
// at most eight times what a block had, so that a burst is followed by degrees.
func blockSize(size, used int64, in, cover time.Duration, limit int64) int64 {
	ids := float64(used) * float64(cover) / float64(max(in, 1))
	return max(1, min(int64(min(ids, maxCall)), 8*size, limit))
}

// issued counts the ids issued. The caller holds mu.
func (s *Sequence) issued() int64 {
	b := s.cur.Load()
	return s.direct.Load() + s.used + min(b.used.Load(), b.n)
}

// lookTime is how often Redis is asked whether it is well, where the last call failed:
// who asks for no ids before Err is nil would wait forever. A quarantine while the clock
// is behind ends in time only where the script runs more than once a second.
const lookTime = 500 * time.Millisecond

// reserveAhead makes the reservations that launch asks for, one at a time, for as long
// as ctx.
func (s *Sequence) reserveAhead(ctx context.Context) {
	defer close(s.ended)
	look := time.NewTicker(lookTime)
	defer look.Stop()
	for {
		select {
		case f := <-s.asked:
			s.mu.Lock()
			copies := s.copies
			s.mu.Unlock()
			first, n, err := s.source(ctx, f.n)
			s.land(f, &block{first: first, n: n, born: s.mono()}, copies, err)
		case <-look.C:
			if s.doubt.Swap(false) || s.outcome.Load().err != nil {
				_, _, _ = s.source(ctx, 0) // Err tells
			}
		case <-ctx.Done():
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.flight != nil { // asked for before Close, and not heard of
				s.flight.err = snowflake.ErrStopped
				close(s.flight.done)
			}
			return
		}
	}
}

// land ends a flight. What was reserved for a process that was copied meanwhile is not
// used.
func (s *Sequence) land(f *flight, b *block, copies int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.state != nil:
		err = s.state
	case err == nil && copies == s.copies:
		s.next = b
	}
	f.err, s.flight = err, nil
	close(f.done)
}
