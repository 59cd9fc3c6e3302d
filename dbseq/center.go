package dbseq

import (
	"context"
	"database/sql"
	"errors"

	"github.com/snowlease/snowlease/internal/bounded"
	"github.com/snowlease/snowlease/internal/engine"
	"github.com/snowlease/snowlease/internal/option"
	"github.com/snowlease/snowlease/internal/sqlconn"
	"github.com/snowlease/snowlease/internal/sqlnumbers"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers"
)

// Center is a lease.Center on a SQL database. It is safe for concurrent use. One
// Center serves any number of namespaces.
type Center struct {
	*engine.Center
	store   *store
	numbers *sqlnumbers.Store
}

// Open returns a center with a pool of its own, of a driver that the program imports:
// mysql, pgx, postgres, sqlite or sqlite3. driverName and dsn are those of sql.Open, such as
// user:password@tcp(host:3306)/database for mysql. The DSN names a database. The center adds to it
// what its statements need, and cuts white space at its end. SQLite must be in a file.
//
// A call ends with its context if the driver's calls do. The calls of lib/pq may wait until TCP
// gives up on a server that is paused or cut off: prefer pgx.
//
// Open opens no connection; the first call connects, and the first Acquire or Init creates
// the tables. The caller closes the center after its last use.
//
// Open returns an error if an option is invalid, if it does not know the driver, if the DSN has a
// control character, or if the driver refuses it. For another driver, use New.
func Open(driverName, dsn string, opts ...Option) (*Center, error) {
	return centerOn(sqlconn.Open(tables, driverName, dsn, option.All[sqlconn.Options](opts)))
}

// New returns a center on a pool that the caller keeps and closes. The pool must connect to
// the primary and always have a spare connection: renewals wait while all are busy, and ids
// stop if that takes longer than the TTL. Closing the center leaves the pool open. On MySQL and
// MariaDB, each statement has a transaction, since autocommit may be off.
//
// The center names its tables with the database or schema that the connection of its first call
// shows, so USE and SET search_path move none of its later statements. Before that call, nothing may
// move a connection, or the namespace may seem new, and worker ids that are in use are lent again.
//
// New opens no connection, as Open. It returns an error if an option is invalid, the pool
// is nil or the dialect is unknown.
func New(pool *sql.DB, dialect Dialect, opts ...Option) (*Center, error) {
	return centerOn(sqlconn.New(tables, pool, string(dialect), option.All[sqlconn.Options](opts)))
}

func centerOn(c *sqlconn.Conn, err error) (*Center, error) {
	if err != nil {
		return nil, err
	}
	s := &store{Conn: c}
	center := &Center{Center: engine.New(s, lease.MaxPool), store: s}
	center.numbers, s.beside = sqlnumbers.Beside(c)
	return center, nil
}

// Acquire lends a free worker id: the one that a ticket chooses, or else the least
// recently used. It takes 4 statements, and a fifth to delete the ticket of the former
// holder; the first call takes more, a repeated one 2. Errors are those of lease.Center.
func (c *Center) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	c.store.Reopen()
	return c.Center.Acquire(ctx, req)
}

// Extras returns all fields of lease.Extras, and Uniqueness for SQLite.
func (c *Center) Extras() lease.Extras {
	x := c.Center.Extras()
	if c.store.File() {
		x.Uniqueness = "unique among the processes that open this file"
	}
	x.Warnings, x.Examine, x.Base = c.store.Warnings(), c.examine, c
	return x
}

// Numbers returns the store of small numbers in the database, in the table snowlease_segment with
// one row per name. After Open it has a pool of its own, which its first call opens and Close closes:
// so numbers that wait for a lock stop no renewal.
//
// A reservation is one UPDATE, committed on its own. So no number is given twice, as long as the
// database loses no acknowledged write. After restoring a backup, raise max_id above all numbers in
// use before any process reserves: the table does not have those given since the backup. If a row is
// lost, running processes get numbers.ErrUnknown; a process that starts creates the row again, and
// numbers start over, unless SegmentConfig.MustExist is set.
//
// The first use creates the table. If the account may not create tables, an administrator runs the
// file of internal/sqlnumbers/schema for the database once. The account needs SELECT, INSERT and
// UPDATE on the table.
func (c *Center) Numbers() numbers.Store { return c.numbers }

// Close closes the pools that the center opened. The next Acquire opens the pool of the leases again,
// and the next call of Numbers its own. Close releases no worker id.
func (c *Center) Close() error {
	defer c.store.beside.Reopen()
	return errors.Join(c.store.beside.Close(), c.store.Close())
}

// examine checks the database, its settings and the account's rights.
func (c *Center) examine(ctx context.Context, namespace string) ([]lease.Finding, error) {
	if err := lease.CheckNamespace(namespace); err != nil {
		return nil, err
	}
	ctx, cancel := bounded.Context(ctx)
	defer cancel()
	return c.store.Examine(ctx), nil
}
