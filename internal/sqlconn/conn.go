// Package sqlconn runs statements on a SQL database for dbseq and internal/sqlnumbers. It has the
// pool, the dialects, the server's identity, tables and retries. Its errors name dbseq.
package sqlconn

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowlease/snowlease/internal/dsn"
	"github.com/snowlease/snowlease/internal/dsn/sqlitedsn"
	"github.com/snowlease/snowlease/internal/option"
)

// Options configure a Conn.
type Options struct {
	Prefix  string // of the table names
	Durable bool   // the server's identity is not compared
	Migrate bool   // create missing tables
	// App is a pool of the application. If it is set, Open takes the dialect instead of a driver's
	// name, and the driver from App. Open uses App itself if the database is in memory, or if Share
	// gives a reason.
	App   *sql.DB
	Share string
	// Clock and Incarnation replace the SQL expressions of the dialect, in tests. {clock} stands for
	// the dialect's clock.
	Clock, Incarnation string
}

// An Option sets Options.
type Option = option.Option[Options]

// A Conn is a package's connection to the database that has its tables. It is safe for concurrent
// use.
type Conn struct {
	Set      Options
	Name     string // for logs, without secrets
	Own      bool   // the pool belongs to the Conn
	tables   Tables
	dialect  *dialect
	given    *sql.DB // unless Own
	warnings []string

	// A pool of its own opens at its first use, so that an unused one needs no Close, and again for
	// a worker that starts after a Close.
	open   func() *sql.DB
	mu     sync.Mutex
	opened *sql.DB
	closed bool

	home       atomic.Pointer[home]       // nil until the first call
	parts      map[string]statement       // the statements of the dialect
	statements atomic.Pointer[statements] // with the server's clock and incarnation
	identity   atomic.Pointer[string]     // the incarnation, with {demotions}; nil until the server is known
}

const defaultPrefix = "snowlease_"

// A home is the schema (on MySQL and MariaDB the database) that the tables are in.
type home struct {
	schema string
	there  bool // a table exists there
}

func newConn(t Tables, opts []Option) (*Conn, error) {
	c := &Conn{tables: t, Set: Options{Prefix: defaultPrefix, Migrate: true}}
	return c, option.All[Options](opts)(&c.Set)
}

// Open returns a Conn with its own pool, so that no busy pool, plugin, read replica or
// transaction of the application interferes. It opens no connection.
func Open(t Tables, driverName, text string, opts ...Option) (*Conn, error) {
	c, err := newConn(t, opts)
	if err != nil {
		return nil, err
	}
	if c.Set.App == nil || driverName != sqlite.name { // a trimmed DSN would name another file than the application's
		text = dsn.Trim(text)
	}
	if err := dsn.Plain(text); err != nil {
		return nil, fmt.Errorf("dbseq: the DSN %w", err)
	}
	name, d, err := c.driver(driverName, text)
	if err != nil {
		return nil, err
	}
	if err := c.speak(name); err != nil {
		return nil, err
	}
	if c.dialect.file && !sqlitedsn.IsPath(text) {
		return nil, errors.New("dbseq: the DSN is not the path of a file")
	}
	c.describe(c.dialect.nameOf(text))
	why := c.Set.Share
	if why == "" && c.dialect.file && sqlitedsn.InMemory(text) {
		why = "the database is in memory"
	}
	switch {
	case why != "" && c.Set.App == nil:
		return nil, fmt.Errorf("dbseq: %s, and the center's own pool would see another one: put it in a file, or give New a pool with SetMaxOpenConns(1)", why)
	case why != "":
		c.given = c.Set.App
		c.warnings = []string{"dbseq shares the application's connection pool, because " + why +
			": renewals wait while all its connections are busy, and ids stop if that takes longer than the TTL: give dbseq.New a separate pool"}
		return c, nil
	}
	connector, err := newConnector(d, c.dialect, text)
	if err != nil {
		return nil, fmt.Errorf("dbseq: open a connection pool: %w", err)
	}
	if err := connector.parse(text); err != nil {
		return nil, err
	}
	c.Own, c.open = true, func() *sql.DB {
		pool := sql.OpenDB(connector)
		pool.SetMaxOpenConns(2)
		pool.SetConnMaxLifetime(10 * time.Minute) // follows a host name that moves to another server
		if c.dialect.file {
			pool.SetMaxOpenConns(1)
		}
		return pool
	}
	return c, nil
}

// New returns a Conn on a pool of the caller.
func New(t Tables, pool *sql.DB, dialect string, opts ...Option) (*Conn, error) {
	c, err := newConn(t, opts)
	if err != nil {
		return nil, err
	}
	if pool == nil {
		return nil, errors.New("dbseq: the pool is nil: give a *sql.DB, or call Open with a DSN")
	}
	c.given = pool
	c.describe(dialect)
	return c, c.speak(dialect)
}

// describe sets the Name. Tables of another prefix are another store in the same database.
func (c *Conn) describe(database string) {
	if c.Name = database; c.Set.Prefix != defaultPrefix {
		c.Name += ", tables " + c.Set.Prefix + "*"
	}
}

// Beside returns a Conn for other tables of the same database. It has its own pool if c has one.
func (c *Conn) Beside(t Tables) *Conn {
	b := &Conn{Set: c.Set, Name: c.Name, Own: c.Own, tables: t, dialect: c.dialect, given: c.given, open: c.open, warnings: c.warnings}
	b.load()
	return b
}

// Pool returns the pool. If the pool belongs to the Conn, Pool opens it first.
func (c *Conn) Pool() *sql.DB {
	if c.given != nil {
		return c.given
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.opened == nil {
		c.opened = c.open()
	}
	return c.opened
}

// Close closes the pool if it belongs to the Conn. Calls then fail until Reopen. It is no error
// that a server ended an idle connection first, so that MySQL's driver cannot say goodbye.
func (c *Conn) Close() error {
	if c.given != nil {
		return nil
	}
	pool := c.Pool()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if err := pool.Close(); c.dialect.file {
		return err
	}
	return nil
}

// Reopen lets the next call open a pool that was closed.
func (c *Conn) Reopen() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		c.opened, c.closed = nil, false
	}
}

// driver returns the dialect's name and the driver of the application, or one that is registered
// with database/sql.
func (c *Conn) driver(name, text string) (string, driver.Driver, error) {
	if app := c.Set.App; app != nil {
		return name, app.Driver(), nil
	}
	known, ok := drivers[name]
	if !ok {
		return "", nil, fmt.Errorf("dbseq: the driver %q is none of %q; for a driver of another name, call New with its pool and the dialect", name, slices.Sorted(maps.Keys(drivers)))
	}
	if !slices.Contains(sql.Drivers(), name) {
		return "", nil, fmt.Errorf("dbseq: the program has no driver %q: add import _ %q", name, known.from)
	}
	pool, err := sql.Open(name, text)
	if err != nil {
		return "", nil, fmt.Errorf("dbseq: %w", dsn.Hide(err, known.dialect.nameOf(text), text))
	}
	return known.dialect.name, pool.Driver(), pool.Close()
}

// speak sets the dialect.
func (c *Conn) speak(name string) error {
	if c.dialect = dialects[name]; c.dialect == nil {
		return fmt.Errorf("dbseq: the dialect %q is not supported: use mysql, postgres or sqlite", name)
	}
	c.load()
	return nil
}

// load prepares the statements of the dialect.
func (c *Conn) load() {
	c.parts = c.dialect.parts(c.tables)
	c.use(unknown)
}

// use fills in the SQL expressions of the server's clock and incarnation.
func (c *Conn) use(incarnation string) {
	now := c.dialect.clock
	if c.Set.Clock != "" {
		now = strings.ReplaceAll(c.Set.Clock, "{clock}", now)
	}
	c.statements.Store(&statements{c.dialect.filled(c.parts, c.qualified(), now, incarnation), incarnation})
}

// qualified returns the prefix of the tables with their schema, quoted for statements.
func (c *Conn) qualified() string {
	h, q := c.home.Load(), c.dialect.quote
	if h == nil {
		return c.Set.Prefix
	}
	return q + strings.ReplaceAll(h.schema, q, q+q) + q + "." + c.Set.Prefix
}

// Answered reports whether the database has answered, and so whether the location of the tables
// is known.
func (c *Conn) Answered() bool { return c.home.Load() != nil }

// Warnings returns the dangers of the connection: that it shares the application's pool.
func (c *Conn) Warnings() []string { return c.warnings }
