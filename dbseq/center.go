package dbseq

import (
	"context"
	"fmt"
	"sync/atomic"

	"gorm.io/gorm"

	"github.com/snowlease/snowlease/lease"
)

var (
	_ lease.Center      = (*Center)(nil)
	_ lease.Lister      = (*Center)(nil)
	_ lease.Initializer = (*Center)(nil)
	_ fmt.Stringer      = (*Center)(nil)
)

// Center is a lease.Center on a SQL database. It is safe for concurrent use. One
// Center serves any number of namespaces.
type Center struct {
	*conn
	gate  chan struct{} // holds one element while somebody prepares
	ready atomic.Bool   // the tables are there
}

// New returns a center on the database of db: MySQL, MariaDB, PostgreSQL or SQLite. It
// opens no connection; the first Acquire or Init does, and creates the tables then.
//
// The center uses a pool of its own (at most 2 connections) on db's driver and DSN, and
// never db's callbacks, plugins, logger, replicas or transactions. Where that cannot
// be, it shares db's pool and says so in Warnings.
//
// It is an error if db is nil, in a transaction, or on another kind of database.
func New(db *gorm.DB, opts ...Option) (*Center, error) {
	c, err := connect(db, opts)
	if err != nil {
		return nil, err
	}
	return &Center{conn: c, gate: make(chan struct{}, 1)}, nil
}

// Slots lists the worker ids of a namespace, none if nothing is on record for it.
func (c *Center) Slots(ctx context.Context, namespace string) ([]lease.Slot, error) {
	if err := lease.CheckNamespace(namespace); err != nil {
		return nil, err
	}
	slots, err := c.list(ctx, namespace)
	return slots, c.wrap(ctx, "list worker ids", leaseTables, err)
}

func (c *Center) list(ctx context.Context, namespace string) ([]lease.Slot, error) {
	if err := c.server(ctx, false); err != nil {
		return nil, err
	}
	slots, err := all(ctx, c.conn, "slots", args{"ns": namespace}, func(s *lease.Slot) []any {
		return []any{&s.Worker, &s.Token, &s.Holder, &s.Since, &s.Expires, &s.Mark, &s.Now}
	})
	for i, s := range slots {
		slots[i].Holder = s.Holder[:min(len(s.Holder), lease.MaxHolder)]
		if err := (record{worker: s.Worker, token: s.Token, since: s.Since, expires: s.Expires, mark: s.Mark}).check(); err != nil {
			return nil, err
		}
	}
	if c.tableMissing(err) {
		err = c.noTable(leaseTables, "slot")
	}
	return slots, err
}
