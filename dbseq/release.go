package dbseq

import (
	"context"

	"github.com/snowlease/snowlease/idworker/lease"
)

// Release gives g back, in 3 statements. See lease.Center.
func (c *Center) Release(ctx context.Context, g lease.Grant, lastUsed int64) error {
	if err := g.Validate(); err != nil {
		return err
	}
	k := newCall(g.Request, false)
	return c.verb(ctx, k, "give back the worker id", func() error { return c.release(ctx, k, g, lastUsed) })
}

func (c *Center) release(ctx context.Context, k *call, g lease.Grant, lastUsed int64) error {
	last := max(g.Floor, min(lastUsed, g.Ceiling))
	for range rounds {
		v, err := c.survey(ctx, k)
		if err != nil {
			return err
		}
		n, err := c.exec(ctx, k.q.release, k.args.with(args{"slot": g.Worker, "token": g.Token, "last": last}))
		if err != nil {
			return err
		}
		if n > 0 {
			if v.ticket != 0 {
				c.forget(ctx, k, v.ticket, v.ticket)
			}
			return nil
		}
		r, err := c.record(ctx, k, g.Worker)
		switch {
		case err != nil:
			return err
		case r.there && r.quarantine.Valid && !k.holds(r, g.Token):
			return lease.ErrLost
		} // else lost since the look, or another server
	}
	return c.unsettled()
}
