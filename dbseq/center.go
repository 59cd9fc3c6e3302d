package dbseq

import (
	"context"
	"sync/atomic"

	"gorm.io/gorm"

	"github.com/snowlease/snowlease/lease"
)

var _ lease.Center = (*Center)(nil)

// Center is a lease.Center on a SQL database. It is safe for concurrent use. One
// Center serves any number of namespaces.
type Center struct {
	*conn
	gate  chan struct{} // has an element while a call prepares
	ready atomic.Bool   // the tables exist
}

// New returns a center on the database of db: MySQL, MariaDB, PostgreSQL or SQLite. It
// opens no connection; the first call connects, and the first Acquire or Init creates the
// tables. The caller closes the center after its last use, and db itself.
//
// The center opens its own pool, or shares db's: see the package documentation.
//
// New returns an error if an option is invalid, or if db is nil, in a transaction, on
// another kind of database, or has a DSN that its driver refuses.
func New(db *gorm.DB, opts ...Option) (*Center, error) {
	c, err := connect(db, opts)
	if err != nil {
		return nil, err
	}
	return &Center{conn: c, gate: make(chan struct{}, 1)}, nil
}

// Extras returns all fields of lease.Extras except Promise. Past is c.Segments().
func (c *Center) Extras() lease.Extras {
	return lease.Extras{
		Name: c.name, Warnings: c.Warnings(), Lister: c, Operator: c, Init: c.Init, Past: c.Segments(), Close: c.Close,
	}
}

// Slots returns the slots of a namespace, ordered by worker id, or none if it has no
// record. It fails if the tables do not exist yet.
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
