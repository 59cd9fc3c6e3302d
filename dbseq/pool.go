package dbseq

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowlease/snowlease/dbseq/internal/option"
	"github.com/snowlease/snowlease/internal/dsn"
	"github.com/snowlease/snowlease/lease"
)

// A conn is the connection of a Center or a Segments to its database.
type conn struct {
	set     option.Set
	dialect *dialect
	pool    func() *sql.DB
	own     bool    // whether Close closes the pool
	opened  ownPool // if own
	name    string  // for logs, without secrets
	warning string

	main       string               // the table whose schema is that of all
	home       atomic.Pointer[home] // nil until the first call
	parts      map[string]string    // the statements of the dialect
	statements atomic.Pointer[statements]
	known      atomic.Bool // statements fit the server
}

// A home is the schema that the tables are in, or the database on MySQL and MariaDB.
type home struct {
	schema string
	there  bool // it was found by a table
}

// schemaName returns the schema of the tables.
func (c *conn) schemaName() string {
	if h := c.home.Load(); h != nil {
		return h.schema
	}
	return ""
}

// qualified returns the prefix of the tables with their schema, as statements have it.
func (c *conn) qualified() string {
	h, q := c.home.Load(), c.dialect.quote
	if h == nil {
		return c.set.Prefix
	}
	return q + strings.ReplaceAll(h.schema, q, q+q) + q + "." + c.set.Prefix
}

func newConn(opts []Option) (*conn, error) {
	c := &conn{set: option.Set{Prefix: "snowlease_", Quarantine: lease.QuarantineOnChange, Migrate: true}}
	var errs []error
	for _, opt := range opts {
		if opt == nil {
			continue
		}
		errs = append(errs, opt(&c.set))
	}
	return c, errors.Join(errs...)
}

// connect prepares a pool of the center's own. So no busy pool, plugin, read replica or
// transaction of the application interferes.
func connect(driverName, text string, opts []Option) (*conn, error) {
	c, err := newConn(opts)
	if err != nil {
		return nil, err
	}
	if c.set.App == nil || driverName != string(SQLite) { // whose file would be another one than the application's
		text = dsn.Trim(text)
	}
	if err := dsn.Plain(text); err != nil {
		return nil, fmt.Errorf("dbseq: the DSN %w", err)
	}
	var (
		d    driver.Driver
		name = Dialect(driverName)
	)
	if app := c.set.App; app != nil {
		d = app.Driver()
	} else if name, d, err = find(driverName, text); err != nil {
		return nil, err
	}
	if err := c.speak(name); err != nil {
		return nil, err
	}
	if c.dialect.misread != nil && (c.set.App == nil || c.dialect.file) {
		if err := c.dialect.misread(text); err != nil {
			return nil, err
		}
	}
	c.name = c.dialect.nameOf(text)
	why := c.set.Share
	if why == "" && c.dialect.inMemory != nil && c.dialect.inMemory(text) {
		why = "the database is in memory"
	}
	switch {
	case why != "" && c.set.App == nil:
		return nil, fmt.Errorf("dbseq: %s, and the center's own pool would see another one: put it in a file, or give New a pool with SetMaxOpenConns(1)", why)
	case why != "":
		c.pool = func() *sql.DB { return c.set.App }
		c.warning = "dbseq shares the application's connection pool, because " + why +
			": renewals wait while all its connections are busy, and ids stop if that takes longer than the TTL: give dbseq.New a separate pool"
		return c, nil
	}
	connector, err := newConnector(d, c.dialect, text)
	if err != nil {
		return nil, fmt.Errorf("dbseq: open a connection pool: %w", err)
	}
	if err := connector.parse(text); err != nil {
		return nil, err
	}
	c.own, c.pool = true, c.opened.get
	c.opened.open = func() *sql.DB {
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

// An ownPool is opened by its first use, so that an unused center needs no Close, and again for a
// worker that starts after a Close.
type ownPool struct {
	open   func() *sql.DB
	mu     sync.Mutex
	db     *sql.DB
	closed bool
}

func (p *ownPool) get() *sql.DB {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.db == nil {
		p.db = p.open()
	}
	return p.db
}

// shut makes later calls fail, until reopen.
func (p *ownPool) shut() error {
	db := p.get()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	return db.Close()
}

func (p *ownPool) reopen() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		p.db, p.closed = nil, false
	}
}

// find returns a driver that is registered with database/sql.
func find(name, text string) (Dialect, driver.Driver, error) {
	var (
		all   []string
		known *dialect
	)
	for _, d := range dialects {
		all = slices.AppendSeq(all, maps.Keys(d.drivers))
		if _, ok := d.drivers[name]; ok {
			known = d
		}
	}
	if known == nil {
		slices.Sort(all)
		return "", nil, fmt.Errorf("dbseq: the driver %q is none of %q; for a driver of another name, call New with its pool and the dialect", name, all)
	}
	if !slices.Contains(sql.Drivers(), name) {
		return "", nil, fmt.Errorf("dbseq: the program has no driver %q: add import _ %q", name, known.drivers[name])
	}
	pool, err := sql.Open(name, text)
	if err != nil {
		return "", nil, fmt.Errorf("dbseq: %w", dsn.Hide(err, known.nameOf(text), text))
	}
	return known.name, pool.Driver(), pool.Close()
}

// on uses a pool of the caller's.
func on(pool *sql.DB, dialect Dialect, opts []Option) (*conn, error) {
	c, err := newConn(opts)
	if err != nil {
		return nil, err
	}
	if pool == nil {
		return nil, errors.New("dbseq: the pool is nil: give a *sql.DB, or call Open with a DSN")
	}
	c.name = string(dialect)
	c.pool = func() *sql.DB { return pool }
	return c, c.speak(dialect)
}

// speak prepares the statements of the dialect.
func (c *conn) speak(name Dialect) error {
	if c.dialect = dialects[name]; c.dialect == nil {
		var all []string
		for name := range dialects {
			all = append(all, string(name))
		}
		slices.Sort(all)
		last := len(all) - 1
		return fmt.Errorf("dbseq: the dialect %q is not supported: use %s or %s", name, strings.Join(all[:last], ", "), all[last])
	}
	c.parts = c.dialect.parts()
	c.use(c.dialect.clock, unknown)
	return nil
}

// use fills the statements with the SQL expressions of the server's clock and incarnation.
func (c *conn) use(now, incarnation string) {
	c.statements.Store(c.dialect.filled(c.qualified(), now, incarnation))
	c.known.Store(incarnation != unknown)
}

// close closes the pool if it is of this package.
func (c *conn) close() error {
	if !c.own {
		return nil
	}
	return c.opened.shut()
}

// warnings returns what is dangerous about the connection: that it shares the application's
// pool.
func (c *conn) warnings() []string {
	if c.warning == "" {
		return nil
	}
	return []string{c.warning}
}

// A connector opens connections with a driver.
type connector struct {
	driver.Connector
	setup string            // SQL to run on each new connection
	hide  func(error) error // takes the secrets of the DSN from an error
}

func newConnector(d driver.Driver, dialect *dialect, text string) (connector, error) {
	hide := func(err error) error { return dsn.Hide(err, dialect.nameOf(text), text) }
	set, setup := dialect.session(text, d)
	if dc, ok := d.(driver.DriverContext); ok {
		c, err := dc.OpenConnector(set)
		return connector{c, setup, hide}, hide(err)
	}
	return connector{opener{d, set}, setup, hide}, nil
}

// An opener is a connector for a driver without one.
type opener struct {
	driver driver.Driver
	dsn    string
}

func (o opener) Driver() driver.Driver                        { return o.driver }
func (o opener) Connect(context.Context) (driver.Conn, error) { return o.driver.Open(o.dsn) }

// parse returns an error if pgx cannot parse the DSN. It parses only when it connects, and
// its own error may show parts of the password.
//
//nolint:contextcheck,nolintlint // the context has ended; contextcheck reports the callers
func (c connector) parse(text string) error {
	if !strings.Contains(packageOf(c.Driver()), "jackc/pgx") {
		return nil
	}
	if strings.HasSuffix(text, `\`) {
		return errors.New("dbseq: the DSN ends with a backslash") // pgx may panic
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	conn, err := c.Connector.Connect(ended)
	file := (*fs.PathError)(nil)
	switch {
	case err == nil:
		return conn.Close()
	case !strings.HasPrefix(err.Error(), "cannot parse"):
		return nil // parsed
	case errors.As(err, &file):
		return fmt.Errorf("dbseq: the DSN names a file that cannot be read: %w", dsn.File(file))
	}
	return errors.New("dbseq: the DSN cannot be parsed: write it like postgres://user:password@host:5432/name, with reserved characters percent-encoded, or host=host port=5432 user=user password=password dbname=name")
}

// openTime bounds the opening of a connection without a deadline. database/sql opens one so for a
// caller that waits, and a server that was cut off would keep the pool until TCP gives up.
const openTime = 10 * time.Second

// Connect opens a connection.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, openTime)
		defer cancel()
	}
	conn, err := c.Connector.Connect(ctx)
	if err != nil || c.setup == "" {
		return conn, c.hide(err)
	}
	if x, ok := conn.(driver.ExecerContext); ok {
		if _, err := x.ExecContext(ctx, c.setup, nil); err != nil {
			return nil, c.hide(errors.Join(err, conn.Close()))
		}
	}
	return conn, nil
}

// Close closes the driver's connector if it is an io.Closer.
func (c connector) Close() error {
	if x, ok := c.Connector.(io.Closer); ok {
		return x.Close()
	}
	return nil
}

func packageOf(d driver.Driver) string {
	t := reflect.TypeOf(d)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.PkgPath()
}
