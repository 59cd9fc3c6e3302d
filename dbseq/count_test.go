package dbseq_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"regexp"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/lease"
)

// TestStatementsPerVerb counts statements, because hundreds of processes renew.
func TestStatementsPerVerb(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		db := e.db(t, dsn)
		c, counter := counted(t, e, dsn)
		first(t, c, soon(request("orders", 2)))

		var g lease.Grant
		for _, step := range []struct {
			what string
			want int64
			do   func() error
		}{
			{"acquire a slot that was never lent", 4, func() (err error) { g, err = c.Acquire(t.Context(), soon(request("orders", 2))); return err }},
			{"renew", 1, func() (err error) { g, err = c.Renew(t.Context(), g); return err }},
			{"acquire again", 2, func() (err error) { g, err = c.Acquire(t.Context(), g.Request); return err }},
			{"renew after a loss", 3, func() (err error) {
				rawExec(t, db, "UPDATE snowlease_meta SET quarantine_ms = ?", g.Now)
				floor := g.Floor
				g, err = c.Renew(t.Context(), g)
				require.Greater(t, g.Floor, floor, "%v", err)
				return err
			}},
			{"acquire again after a loss", 2, func() (err error) {
				rawExec(t, db, "UPDATE snowlease_meta SET quarantine_ms = ?", g.Floor+1)
				time.Sleep(3 * time.Millisecond) // then its end is not further ahead than Ahead
				before := g
				g, err = c.Acquire(t.Context(), g.Request)
				require.Equal(t, before.Worker, g.Worker, "%v", err)
				require.GreaterOrEqual(t, g.Floor, before.Ceiling, "those times may be forgotten grants")
				return err
			}},
			{"find the pool full", 1, func() error {
				_, err := c.Acquire(t.Context(), soon(request("orders", 2)))
				require.ErrorAs(t, err, new(*lease.NoFreeWorkerError))
				return nil
			}},
			{"release", 3, func() error { return c.Release(t.Context(), g, 0) }},
			{"lost", 2, func() error {
				_, err := c.Renew(t.Context(), g)
				require.ErrorIs(t, err, lease.ErrLost)
				return nil
			}},
		} {
			before := counter.n.Load()
			require.NoError(t, step.do(), step.what)
			if e.dialect == "mysql" && !slices.Contains([]string{"find the pool full", "release", "lost"}, step.what) { // recount, after it lends
				step.want++
			}
			require.Equal(t, step.want, counter.n.Load()-before, step.what)
		}
	})
}

// counted returns a center whose statements are counted.
func counted(t testing.TB, e engine, dsn string) (*dbseq.Center, *counter) {
	t.Helper()
	pool, n := countedPool(t, e, dsn)
	c, err := dbseq.New(pool, e.dialect)
	require.NoError(t, err)
	c.Autocommit() // the functions of the counter expect no transaction
	return c, n
}

// countedPool opens a pool whose statements are counted.
func countedPool(t testing.TB, e engine, dsn string) (*sql.DB, *counter) {
	t.Helper()
	n := &counter{driver: e.pool(t, dsn).Driver(), dsn: dsn}
	if e.speaks == "mysql" {
		n.dsn += "&interpolateParams=true"
	}
	pool := sql.OpenDB(n)
	t.Cleanup(func() { _ = pool.Close() })
	return pool, n
}

// A counter is a connector that counts the statements of its connections.
type counter struct {
	driver driver.Driver
	dsn    string
	n      atomic.Int64

	// before and after run around a statement; their errors become its reply.
	before, after func(n int64, query string) error
	// rows replaces the rows of a query, begin a new transaction.
	rows  func(query string, r driver.Rows) driver.Rows
	begin func(driver.Tx) (driver.Tx, error)
}

func (c *counter) Driver() driver.Driver { return c.driver }

func (c *counter) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.driver.Open(c.dsn)
	return &countingConn{conn, c}, err
}

type countingConn struct {
	driver.Conn
	counter *counter
}

var qualification = regexp.MustCompile("(`[^`]*`|\"[^\"]*\")\\.")

// statement runs a statement between the functions of the counter, which get it without the schema
// of the tables.
func (c *countingConn) statement(query string, run func() error) error {
	query = qualification.ReplaceAllString(query, "")
	n := c.counter.n.Add(1)
	if f := c.counter.before; f != nil {
		if err := f(n, query); err != nil {
			return err
		}
	}
	err := run()
	if f := c.counter.after; f != nil && err == nil {
		err = f(n, query)
	}
	return err
}

func (c *countingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (r driver.Result, err error) {
	err = c.statement(query, func() error {
		r, err = c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
		return err
	})
	return r, err
}

func (c *countingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (r driver.Rows, err error) {
	err = c.statement(query, func() error {
		r, err = c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
		return err
	})
	if err != nil && r != nil {
		err = errors.Join(err, drain(r)) // the statement took effect, the reply is lost
		r = nil
	}
	if f := c.counter.rows; f != nil && err == nil {
		r = f(qualification.ReplaceAllString(query, ""), r)
	}
	return r, err
}

func (c *countingConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
	if f := c.counter.begin; f != nil && err == nil {
		return f(tx)
	}
	return tx, err
}

func drain(r driver.Rows) error {
	row := make([]driver.Value, len(r.Columns()))
	for {
		if err := r.Next(row); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return errors.Join(err, r.Close())
		}
	}
}
