package chaos

import (
	"context"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/snowlease/snowlease/internal/test/testserver"
)

// A clock is the clock of a host, or of the servers of one center, which are stepped together.
//
// The promises hold if, when records are lost, the clock is at most the skew behind
// the latest time that it ever showed. ready waits for that.
type clock struct {
	servers func() []*testserver.Server
	host    *atomic.Int64 // offset of the host's clock, where there are no servers
	off     time.Duration
	high    time.Time // the latest time that it showed

	// A Counter runs at half the pace while the clock lags, so afterwards it is ahead
	// of the clock for as long again: by at most lead at the time leadAt.
	half   bool
	lead   time.Duration
	leadAt time.Time
}

// farthest bounds the clock's offset: processes refuse a clock that is wrong by more
// than lease.MaxClockError.
const farthest = 4 * time.Minute

// farBack returns the longest step back. Later losses have to wait for it, and twice as
// long for a Counter to be level with the clock.
func (c *clock) farBack() time.Duration {
	if c.half {
		return 2 * time.Second
	}
	return 8 * time.Second
}

// margin is more than the time that passes between two statements here.
const margin = 150 * time.Millisecond

func (c *clock) step(d time.Duration) {
	before := c.off
	c.off = max(-farthest, min(farthest, c.off+d))
	if c.host != nil {
		c.host.Store(int64(c.off))
	} else {
		for _, s := range c.servers() {
			s.ShiftClock(c.off)
		}
	}
	if shown := time.Now().Add(before); shown.After(c.high) {
		c.high = shown
	}
	c.lead = max(0, c.ahead()-(c.off-before))
	c.leadAt = time.Now()
}

// behind returns how far the clock is behind the latest time that it showed before a step.
func (c *clock) behind() time.Duration { return max(0, c.high.Sub(time.Now().Add(c.off))) }

// ahead returns how far a Counter may be ahead of the clock.
func (c *clock) ahead() time.Duration { return max(0, c.lead-time.Since(c.leadAt)/2) }

// ready waits until records may be lost.
func (c *clock) ready(ctx context.Context) {
	pause(ctx, time.Until(c.high.Add(margin-skew-c.off)))
	if c.half {
		pause(ctx, 2*(c.ahead()-skew+margin))
	}
}

// faults are steps of the clock, forward by up to the given time, small ones as often as
// large ones. A step back waits until an earlier loss has been noticed.
func (c *clock) faults(forward time.Duration, noticed func(context.Context) error) []fault {
	return []fault{
		{"center's clock stepped forward", func(_ context.Context, random *rand.Rand) error {
			c.step(upTo(random, forward))
			return nil
		}},
		{"center's clock stepped back", func(ctx context.Context, random *rand.Rand) error {
			if err := noticed(ctx); err != nil {
				return err
			}
			c.step(-upTo(random, c.farBack()))
			return nil
		}},
	}
}

// upTo returns a time from 10 ms to most, spread over the orders of magnitude.
func upTo(random *rand.Rand, most time.Duration) time.Duration {
	const least = 10 * time.Millisecond
	return time.Duration(float64(least) * math.Pow(float64(most)/float64(least), random.Float64()))
}

// across plays a loss during which the clock steps back within the skew.
func (c *clock) across(ctx context.Context, random *rand.Rand, begin, end func() error) error {
	c.ready(ctx)
	if err := begin(); err != nil {
		return err
	}
	c.step(-time.Duration(random.Int64N(int64(skew - margin))))
	return end()
}
