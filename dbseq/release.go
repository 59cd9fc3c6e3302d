package dbseq

import (
	"context"

	"github.com/snowlease/snowlease/internal/sqlconn"
	"github.com/snowlease/snowlease/lease"
)

// Release gives g back. It takes 3 statements. Its errors are the errors of lease.Center and
// lease.ErrDamaged.
func (c *Center) Release(ctx context.Context, g lease.Grant, lastUsed int64) error {
	if err := g.Validate(); err != nil {
		return err
	}
	k := c.newCall(g.Request, g.Pinned, false)
	return c.verb(ctx, k, "give back the worker id", func(ctx context.Context) error { return c.release(ctx, k, g, lastUsed) })
}

func (c *Center) release(ctx context.Context, k *call, g lease.Grant, lastUsed int64) error {
	k.args["slot"], k.args["token"] = g.Worker, g.Token
	k.args["used"] = max(g.Floor, min(lastUsed, g.Ceiling))
	for range sqlconn.Rounds {
		v, err := c.survey(ctx, k)
		if err != nil {
			return err
		}
		if !v.held.there || v.held.token != g.Token {
			return lease.ErrLost
		}
		n, err := c.conn.Exec(ctx, nil, "release", k.args)
		if err != nil {
			return err
		}
		if n > 0 {
			if v.held.ticket != 0 {
				c.forget(ctx, k, v.held.ticket, v.held.ticket)
			}
			return nil
		} // else the row has changed since the look, or another server answers
	}
	return sqlconn.Unsettled()
}
