package dbseq

import (
	"context"
	"embed"

	"github.com/snowlease/snowlease/internal/sqlconn"
)

//go:embed sql/*.sql schema/*.sql
var files embed.FS

var tables = sqlconn.Tables{
	Files:   files,
	Schema:  "dbseq/schema",
	Names:   []string{"slot", "ticket", "meta"},
	Rights:  "SELECT, INSERT and UPDATE on the tables snowlease_slot and snowlease_meta, and SELECT, INSERT and DELETE on snowlease_ticket",
	Damaged: "correct its row or delete it; later grants lie above everything that it may have held",
}

// prepare makes the center ready for k. It identifies the server, refuses one with a
// wrong clock or an unreadable incarnation before it writes anything, and creates the
// tables if necessary.
func (c *Center) prepare(ctx context.Context, k *call) error {
	if c.ready.Load() {
		return nil
	}
	select {
	case c.gate <- struct{}{}:
		defer func() { <-c.gate }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := c.conn.Server(ctx, false); err != nil || c.ready.Load() {
		return err
	}
	if !c.conn.Own { // nothing moved a connection yet
		if err := c.beside.Settle(ctx); err != nil {
			return err
		}
	}
	now, err := c.conn.Now(ctx, nil)
	if err != nil {
		return err
	}
	if err := k.refuse(now); err != nil {
		return err
	}
	if _, err := c.conn.Identify(ctx); err != nil {
		return err
	}
	if err := c.conn.Create(ctx); err != nil {
		return err
	}
	c.ready.Store(true)
	return nil
}
