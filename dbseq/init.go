package dbseq

import (
	"context"
	"database/sql"
	"errors"

	"github.com/snowlease/snowlease/lease"
)

// Init opens a namespace that is known to be new, and creates the tables if necessary. See
// lease.Extras. It returns lease.ErrExists if anything of the namespace exists.
func (c *Center) Init(ctx context.Context, req lease.Request) error {
	if err := req.Validate(); err != nil {
		return err
	}
	k := c.newCall(req, true)
	err := c.prepare(ctx, k)
	if err == nil {
		err = c.open(ctx, k)
	}
	return c.wrap(ctx, "open the namespace", leaseTables, err)
}

// open creates the records of a new namespace in one transaction.
func (c *Center) open(ctx context.Context, k *call) error {
	v, err := c.look(ctx, k)
	if err != nil {
		return err
	}
	if v.there || v.total > 0 {
		return lease.ErrExists
	}
	if err := k.refuse(v.now); err != nil {
		return err
	}
	return c.patiently(ctx, func() error { return c.openOnce(ctx, k) })
}

func (c *Center) openOnce(ctx context.Context, k *call) (err error) {
	tx, err := c.pool().BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if e := tx.Rollback(); e != nil && !errors.Is(e, sql.ErrTxDone) {
			err = errors.Join(err, e)
		}
	}()
	a := k.args.with(args{"hold": int64(0), "reason": ""})
	// The loser of a race waits here and then finds the row.
	_, done, err := c.changeOn(ctx, tx, "open", a)
	if err != nil {
		return err
	}
	if !done {
		return lease.ErrExists
	}
	if _, err := c.execOn(ctx, tx, "fill", a); err != nil {
		return err
	}
	return tx.Commit()
}
