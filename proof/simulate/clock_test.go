package simulate

import (
	"sync"
	"time"
)

// A clock is a host's monotonic clock, which may be wrong, and its wall clock.
type clock struct {
	lanes *lanes
	mu    sync.Mutex
	at    time.Duration // in the run, when the rate was set
	shown time.Duration // what it showed at that time
	rate  int           // percent
	wall  time.Duration // ahead of the true time
}

// mono returns a multiple of laneCount nanoseconds, so what the generator computes
// from it stays in its lane.
func (c *clock) mono() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read() &^ (laneCount - 1)
}

func (c *clock) read() time.Duration {
	return c.shown + (c.lanes.now()-c.at)*time.Duration(c.rate)/100
}

func (c *clock) set(rate int, step time.Duration) (was int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shown, c.at = c.read()+step, c.lanes.now()
	was, c.rate = c.rate, rate
	return was
}

func (c *clock) step(by time.Duration) {
	c.mu.Lock()
	rate := c.rate
	c.mu.Unlock()
	c.set(rate, by)
}

// stretch returns how long d of this clock takes. Timers run even while the clock
// stands still.
func (c *clock) stretch(d time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rate == 0 {
		return d
	}
	return d * 100 / time.Duration(c.rate)
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.wall)
}

func (c *clock) stepWall(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall += by
}
