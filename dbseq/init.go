package dbseq

import (
	"context"
	"database/sql"
	"errors"

	"github.com/snowlease/snowlease/idworker/lease"
)

// Init opens a namespace that is known to be new. See lease.Initializer.
func (c *Center) Init(ctx context.Context, req lease.Request) error {
	if err := req.Validate(); err != nil {
		return err
	}
	k := newCall(req, true)
	opened, err := c.prepare(ctx, k)
	if err == nil && !opened {
		if opened, err = c.open(ctx, k); err == nil && !opened {
			err = lease.ErrExists
		}
	}
	return c.wrap(ctx, "open the namespace", err)
}

// open puts the records of a new namespace in place, all at once, and reports false
// where anything of it is there.
func (c *Center) open(ctx context.Context, k *call) (opened bool, err error) {
	v, err := c.look(ctx, k)
	if err != nil || v.there || v.total > 0 {
		return false, err
	}
	if err := k.refuse(v.now); err != nil {
		return false, err
	}
	err = c.patiently(ctx, func() error {
		opened, err = c.openOnce(ctx, k)
		return err
	})
	return opened, err
}

func (c *Center) openOnce(ctx context.Context, k *call) (opened bool, err error) {
	tx, err := c.pool().BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer func() {
		if e := tx.Rollback(); e != nil && !errors.Is(e, sql.ErrTxDone) {
			err = errors.Join(err, e)
		}
	}()
	a := k.args.with(args{"hold": int64(0), "reason": ""})
	// The loser of a race waits here, and then finds the row.
	_, done, err := k.q.change(ctx, tx, k.q.open, a)
	if err != nil || !done {
		return false, err
	}
	if _, err := exec(ctx, tx, k.q.fill, a); err != nil {
		return false, err
	}
	return true, tx.Commit()
}
