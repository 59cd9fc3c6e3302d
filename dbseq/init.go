package dbseq

import (
	"context"

	"github.com/snowlease/snowlease/internal/bounded"

	"github.com/snowlease/snowlease/internal/sqlconn"
	"github.com/snowlease/snowlease/lease"
)

// init implements lease.Extras.Init. It creates the tables if necessary.
func (c *Center) init(ctx context.Context, req lease.Request) error {
	if err := req.Validate(); err != nil {
		return err
	}
	ctx, cancel := bounded.Context(ctx)
	defer cancel()
	k := c.newCall(req, lease.Pin{}, true)
	err := c.prepare(ctx, k)
	if err == nil {
		err = c.open(ctx, k)
	}
	return c.conn.Wrap(ctx, "open the namespace", err)
}

// open creates the records of a new namespace in one transaction.
func (c *Center) open(ctx context.Context, k *call) error {
	v, err := c.look(ctx, k)
	if err != nil {
		return err
	}
	if v.there {
		return lease.ErrExists
	}
	if err := k.refuse(v.now); err != nil {
		return err
	}
	a := k.args.With(sqlconn.Args{"hold": int64(0), "reason": ""})
	return c.conn.AtOnce(ctx, func(tx sqlconn.Runner) error {
		// The loser of a race waits here and then finds the row.
		_, done, err := c.conn.Change(ctx, tx, "open", a)
		if err == nil && !done {
			err = lease.ErrExists
		}
		if err == nil {
			var filled int64
			if filled, err = c.conn.Exec(ctx, tx, "fill", a); err == nil && filled != k.req.Pool {
				err = lease.ErrExists // a part of it was there, of a namespace that lost the rest
			}
		}
		return err
	})
}
