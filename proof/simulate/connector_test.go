package simulate

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
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
	wrote  func()                   // called before a statement that may write
	change func(text string) string // changes statements, unless it is nil
	// between is called, unless it is nil, before each statement outside of a transaction. If again
	// returns true after one that changes records, its reply is lost, and a client sends it again.
	between func()
	again   func() bool
	server  int // which one answers
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
	return result, c.step(ctx, text, func() error { return nil }, func() error {
		result, err = c.Conn.(driver.ExecerContext).ExecContext(inside(ctx), c.timed(text), args)
		return err
	})
}

func (c *conn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (rows driver.Rows, err error) {
	return rows, c.step(ctx, text, func() error { return rows.Close() }, func() error {
		rows, err = c.Conn.(driver.QueryerContext).QueryContext(inside(ctx), c.timed(text), args)
		return err
	})
}

// step carries out a statement. lose ends a reply that is lost.
func (c *conn) step(ctx context.Context, text string, lose, statement func() error) error {
	if c.within {
		return statement()
	}
	between := c.connector.between
	if between == nil {
		return Step(ctx, statement)
	}
	between()
	err := statement()
	if err == nil && !strings.HasPrefix(text, "SELECT") && c.connector.again() {
		if err = lose(); err == nil {
			between()
			err = statement()
		}
	}
	return err
}

func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (begun driver.Tx, err error) {
	return begun, c.step(ctx, "", nil, func() error {
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

// timed replaces SQLite's time, which is the same throughout a statement, with the center's, and its
// incarnation with that of the server that answers.
func (c *conn) timed(text string) string {
	if !strings.HasPrefix(text, "SELECT") {
		c.connector.wrote()
	}
	if strings.Contains(text, "pragma_database_list") {
		return "SELECT 'file', '/sim'" // in memory, but one database for all connections
	}
	if c.connector.change != nil {
		text = c.connector.change(text)
	}
	text = strings.ReplaceAll(text, "'sqlite'", fmt.Sprintf("'sqlite %d'", c.connector.server))
	days := float64(c.connector.now().UnixMilli())/86_400_000 + 2_440_587.5
	return strings.ReplaceAll(text, "julianday('now')", strconv.FormatFloat(days, 'f', -1, 64))
}
