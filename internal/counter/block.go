package counter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/snowlease/snowlease/internal/generator"
)

// A block is a run of consecutive values that one call reserved.
//
// Blocks are used in the order in which they were reserved: first cur, then next. A
// block is retired before it is replaced, so that a caller that still sees it takes no
// more values from it. Thus values rise.
type block struct {
	first, n int64
	born     time.Duration
	used     atomic.Int64 // above n if callers came too late
}

// A flight is a reservation that callers wait for.
type flight struct {
	n    int64
	err  error // valid when done is closed
	done chan struct{}
}

// grab takes up to want values from the current block, or none if it is used up or old.
func (c *Counter) grab(want int64) (first, n int64) {
	b := c.cur.Load()
	if b.n == 0 || c.old(b) {
		return 0, 0
	}
	at := b.used.Add(want) - want
	if n = min(want, b.n-at); n <= 0 {
		return 0, 0
	}
	if half := b.n / 2; at < half && at+n >= half {
		c.prefetch()
	}
	return b.first + at, n
}

func (c *Counter) old(b *block) bool { return c.mono()-b.born > c.cfg.MaxAge }

// refill waits until there may be values to grab, or returns why there are none.
func (c *Counter) refill(ctx context.Context, want int64) error {
	c.mu.Lock()
	if c.state != nil || c.turn() {
		defer c.mu.Unlock()
		return c.state
	}
	c.short += want
	f := c.flight
	if f == nil {
		f = c.launch(max(c.adapt(), min(c.short, maxCall)))
	}
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.short -= want
		c.mu.Unlock()
	}()
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return c.wrap(errors.New("no reply in time"))
	}
}

// turn replaces a block that is used up or old with next. It reports whether there may
// be values to grab; next may be old too.
func (c *Counter) turn() bool {
	b := c.cur.Load()
	if b.used.Load() < b.n && !c.old(b) {
		return true
	}
	next := c.next
	c.next = nil
	if next == nil {
		return false
	}
	c.retire(b)
	c.cur.Store(next)
	return true
}

// retire ends the use of b.
func (c *Counter) retire(b *block) {
	c.used += min(b.used.Swap(math.MaxInt64/2), b.n)
}

// drop discards all values that were reserved and not issued.
func (c *Counter) drop() {
	c.retire(c.cur.Load())
	c.cur.Store(&block{})
	c.next = nil
}

// prefetch reserves the next block in the background, unless that would have one value.
// A single value is fetched when it is needed, so that ids are fresh at a low rate.
func (c *Counter) prefetch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != nil || c.flight != nil || c.next != nil {
		return
	}
	if n := c.adapt(); n > 1 {
		c.launch(n)
	}
}

// launch asks reserveAhead, which is idle, for n values.
func (c *Counter) launch(n int64) *flight {
	c.flight = &flight{n: n, done: make(chan struct{})}
	c.asked <- c.flight
	return c.flight
}

// adapt sets the size of a block by the ids used since the last adapt.
func (c *Counter) adapt() int64 {
	now, used := c.mono(), c.issued()
	c.size = blockSize(c.size, used-c.sizedAt, now-c.sized, c.cfg.MaxAge/8, c.cfg.Prefetch)
	c.sized, c.sizedAt = now, used
	return c.size
}

// blockSize returns how many ids are used within cover at the rate of used per in. The
// result is at most 8*size, so that a burst raises it gradually.
func blockSize(size, used int64, in, cover time.Duration, limit int64) int64 {
	ids := float64(used) * float64(cover) / float64(max(in, 1))
	return max(1, min(int64(min(ids, maxCall)), 8*size, limit))
}

// issued returns the number of ids issued. The caller holds mu.
func (c *Counter) issued() int64 {
	b := c.cur.Load()
	return c.direct.Load() + c.used + min(b.used.Load(), b.n)
}

// lookTime is how often Redis is probed after a call has failed, so that Err recovers
// even if no ids are requested. While the clock is behind, a quarantine ends in time only
// if the script runs more than once a second.
const lookTime = 500 * time.Millisecond

// reserveAhead makes the reservations that launch asks for, one at a time, until ctx
// ends.
func (c *Counter) reserveAhead(ctx context.Context) {
	defer close(c.ended)
	look := time.NewTicker(lookTime)
	defer look.Stop()
	for {
		select {
		case f := <-c.asked:
			copies, asked := c.copies.Load(), c.mono() // Redis may reserve at once, and its reply be late
			first, n, err := c.source(ctx, f.n)
			c.land(f, &block{first: first, n: n, born: asked}, copies, err)
		case <-look.C:
			if c.doubt.Swap(false) || c.outcome.Load().err != nil {
				_, _, _ = c.source(ctx, 0) // sets the outcome
			}
		case <-ctx.Done():
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.flight != nil { // launched before Close
				c.flight.err = generator.ErrStopped
				close(c.flight.done)
			}
			return
		}
	}
}

// land ends a flight. It drops values if Reset was called since the launch, because a
// copy of the process may have received them too.
func (c *Counter) land(f *flight, b *block, copies int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.state != nil:
		err = c.state
	case err == nil && c.old(b):
		err = c.wrap(fmt.Errorf("the reply took longer than max_age (%v), so the ids are dropped: raise max_age if Redis is always as slow", c.cfg.MaxAge))
	case err == nil && copies == c.copies.Load():
		c.next = b
	}
	f.err, c.flight = err, nil
	close(f.done)
}
