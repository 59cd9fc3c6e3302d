package counter

import (
	"context"
	"errors"
	"time"

	"github.com/snowlease/snowlease/internal/prefetch"
	"github.com/snowlease/snowlease/snowflake"
)

// Soon is NextIDWait for as long as a call of Redis may take.
func Soon(s interface {
	NextIDWait(ctx context.Context) (int64, error)
},
) (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	return s.NextIDWait(ctx)
}

// SetWall sets this host's clock.
func (c *Counter) SetWall(now func() time.Time) { c.wall = now }

// SetMono sets the clock that measures the age of blocks.
func (c *Counter) SetMono(now func() time.Duration) { c.of.Now = now }

// Reserve calls Redis once.
func (c *Counter) Reserve(ctx context.Context, n int64) (first, got int64, err error) {
	r, err := c.of.Ask(ctx, n)
	if err != nil || r.Len() == 0 {
		return 0, 0, err
	}
	return r.First, r.Len(), nil
}

// Forget makes c a member that was given no value yet.
func (c *Counter) Forget() { c.of = prefetch.New(c.policy()) }

// Wait returns how long an exhausted caller must wait.
func Wait(err error) time.Duration {
	var exhausted *exhaustedError
	if !errors.As(err, &exhausted) {
		return 0
	}
	return exhausted.wait
}

// Layout returns the layout of the ids with its defaults filled in.
func (c *Counter) Layout() snowflake.Layout { return c.cfg.Layout }
