package simulate

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strconv"
	"strings"
	"time"
)

// A connector opens connections of the real driver that go over the simulated network
// to a server with the simulated clock.
type connector struct {
	dsn    string
	driver driver.Driver
	now    func() time.Time
	wrote  func() // called before a statement that may write
}

func newConnector(dsn string, now func() time.Time, wrote func()) (*connector, error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	return &connector{dsn: dsn, driver: db.Driver(), now: now, wrote: wrote}, db.Close()
}

func (c *connector) Driver() driver.Driver { return c.driver }

func (c *connector) Connect(context.Context) (driver.Conn, error) {
	inner, err := c.driver.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: inner, connector: c}, nil
}

// conn gives each statement its round trip and its time. A statement takes no time, so
// its context cannot cut it short; the network checks the context instead.
//
// A transaction is one step. In reality others would wait for its lock, for a time
// that the product draws at random, which no seed could repeat.
type conn struct {
	driver.Conn
	connector *connector
	within    bool // in a transaction
}

var (
	_ driver.ExecerContext  = (*conn)(nil)
	_ driver.QueryerContext = (*conn)(nil)
	_ driver.ConnBeginTx    = (*conn)(nil)
)

func (c *conn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (result driver.Result, err error) {
	return result, c.step(ctx, func() error {
		result, err = c.Conn.(driver.ExecerContext).ExecContext(inside(ctx), c.timed(text), args)
		return err
	})
}

func (c *conn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (rows driver.Rows, err error) {
	return rows, c.step(ctx, func() error {
		rows, err = c.Conn.(driver.QueryerContext).QueryContext(inside(ctx), c.timed(text), args)
		return err
	})
}

func (c *conn) step(ctx context.Context, statement func() error) error {
	if c.within {
		return statement()
	}
	return Step(ctx, statement)
}

func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (begun driver.Tx, err error) {
	return begun, c.step(ctx, func() error {
		inner, err := c.Conn.(driver.ConnBeginTx).BeginTx(inside(ctx), opts)
		c.within, begun = err == nil, tx{inner, c}
		return err
	})
}

type tx struct {
	driver.Tx
	conn *conn
}

func (t tx) Commit() error {
	t.conn.within = false
	return t.Tx.Commit()
}

func (t tx) Rollback() error {
	t.conn.within = false
	return t.Tx.Rollback()
}

// timed replaces SQLite's time, which is the same throughout a statement, with the center's.
func (c *conn) timed(text string) string {
	if !strings.HasPrefix(text, "SELECT") {
		c.connector.wrote()
	}
	if strings.HasPrefix(text, "SELECT file FROM pragma_database_list") {
		return "SELECT '/sim'" // in memory, but one database for all connections
	}
	days := float64(c.connector.now().UnixMilli())/86_400_000 + 2_440_587.5
	return strings.ReplaceAll(text, "julianday('now')", strconv.FormatFloat(days, 'f', -1, 64))
}
