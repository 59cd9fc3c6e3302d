package dbseq

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
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
	link
	options
	dialect string

	gate    chan struct{} // holds one element while somebody prepares
	ready   atomic.Bool   // the tables are there
	queries atomic.Pointer[queries]
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
	o := options{prefix: "snowlease_", quarantine: OnChange, migrate: true}
	var errs []error
	for _, opt := range opts {
		errs = append(errs, opt(&o))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if db == nil || db.Config == nil || db.Dialector == nil {
		return nil, errors.New("dbseq: the *gorm.DB is nil or was not opened by gorm.Open")
	}
	if db.Statement != nil {
		if _, ok := db.Statement.ConnPool.(gorm.TxCommitter); ok {
			return nil, errors.New("dbseq: the *gorm.DB is in a transaction, which would hide leases until it ends: give the one from gorm.Open")
		}
	}
	dialect := db.Name()
	if dialect != mysql && dialect != postgres && dialect != sqlite {
		return nil, fmt.Errorf("dbseq: the dialect %q is not supported: use %s, %s or %s", dialect, mysql, postgres, sqlite)
	}
	l, err := connect(db, o.given)
	if err != nil {
		return nil, err
	}
	return &Center{link: l, options: o, dialect: dialect, gate: make(chan struct{}, 1)}, nil
}

// Close closes the pool, if the center opened it. It gives nothing back: Release does.
func (c *Center) Close() error {
	if !c.own {
		return nil
	}
	return c.pool().Close()
}

// Warnings say what about the database endangers the leases, for the start log.
func (c *Center) Warnings() []string {
	if c.warning == "" {
		return nil
	}
	return []string{c.warning}
}

// String names the database without secrets: "mysql 127.0.0.1:3306/app".
func (c *Center) String() string { return c.name }

// Slots lists the worker ids of a namespace, none if nothing is on record for it.
func (c *Center) Slots(ctx context.Context, namespace string) ([]lease.Slot, error) {
	if err := lease.CheckNamespace(namespace); err != nil {
		return nil, err
	}
	slots, err := c.list(ctx, namespace)
	return slots, c.wrap(ctx, "list worker ids", err)
}

func (c *Center) list(ctx context.Context, namespace string) (slots []lease.Slot, err error) {
	q, err := c.server(ctx, false)
	if err != nil {
		return nil, err
	}
	err = c.patiently(ctx, func() error {
		slots = nil
		return c.query(ctx, q.slots, args{"ns": namespace}, func(rows *sql.Rows) error {
			var s lease.Slot
			if err := rows.Scan(&s.Worker, &s.Token, &s.Holder, &s.Since, &s.Expires, &s.Mark, &s.Now); err != nil {
				return err
			}
			s.Holder = s.Holder[:min(len(s.Holder), lease.MaxHolder)]
			slots = append(slots, s)
			return cmp.Or(
				within("slot", s.Worker, lease.MaxPool-1),
				record{worker: s.Worker, token: s.Token, since: s.Since, expires: s.Expires, mark: s.Mark}.check(),
			)
		})
	})
	if c.tableMissing(err) {
		err = c.noTable(q, q.tableSlot)
	}
	return slots, err
}
