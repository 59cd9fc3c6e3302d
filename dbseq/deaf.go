package dbseq

import (
	"context"
	"database/sql/driver"
	"fmt"
	"sync/atomic"
	"time"
)

// An opener is a connector for a driver without one, such as that of lib/pq. Such a driver may heed
// no context: it goes on waiting for a server that was paused or cut off. So calls of it end with
// their context, and the connection is closed when the driver lets go of it.
type opener struct {
	driver driver.Driver
	dsn    string
	deaf   bool // it may be
	// hanging counts the connections that are being opened, and those of calls that go on.
	hanging *atomic.Int64
}

// mostHanging bounds opener.hanging. It is far above the two connections of a pool, so that a server that
// is back is reached while calls to the former one go on, for as long as TCP takes.
const mostHanging = 32

func (o opener) Driver() driver.Driver { return o.driver }

func (o opener) Connect(ctx context.Context) (driver.Conn, error) {
	if !o.deaf {
		return o.driver.Open(o.dsn)
	}
	if o.hanging.Add(1) > mostHanging {
		o.hanging.Add(-1)
		return nil, fmt.Errorf("dbseq: %d calls go on after their end: the server does not answer", mostHanging)
	}
	conn, _, err := heed(ctx, func() (driver.Conn, error) {
		defer o.hanging.Add(-1)
		return o.driver.Open(o.dsn)
	}, func(late driver.Conn) { _ = late.Close() })
	if err != nil {
		return nil, err
	}
	return &deafConn{Conn: conn, hanging: o.hanging}, nil
}

// lateness is how long after the end of its context a call may return by itself.
const lateness = time.Second

// heed returns what f does, or the error of ctx if f goes on after its end; then late gets what f
// returns without an error.
func heed[T any](ctx context.Context, f func() (T, error), late func(T)) (v T, goesOn bool, err error) {
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		v, err := f()
		done <- answer{v, err}
	}()
	select {
	case a := <-done:
		return a.value, false, a.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(lateness)
	defer timer.Stop()
	select {
	case a := <-done:
		return a.value, false, a.err
	case <-timer.C:
	}
	go func() {
		if a := <-done; a.err == nil {
			late(a.value)
		}
	}()
	return v, true, ctx.Err()
}

// A deafConn is a connection of an opener. One goroutine at a time uses it.
type deafConn struct {
	driver.Conn
	lost    chan struct{} // closed when the call that goes on returns
	hanging *atomic.Int64 // of the opener
}

// answered is heed for a call on the connection, which is lost if that goes on.
func answered[T any](ctx context.Context, c *deafConn, f func() (T, error)) (T, error) {
	returned := make(chan struct{})
	v, goesOn, err := heed(ctx, func() (T, error) {
		defer close(returned)
		return f()
	}, func(T) {})
	if goesOn {
		c.lost = returned
		c.hanging.Add(1)
		go func() {
			<-returned
			c.hanging.Add(-1)
		}()
	}
	return v, err
}

// IsValid implements driver.Validator.
func (c *deafConn) IsValid() bool {
	v, ok := c.Conn.(driver.Validator)
	return c.lost == nil && (!ok || v.IsValid())
}

// ResetSession implements driver.SessionResetter.
func (c *deafConn) ResetSession(ctx context.Context) error {
	if c.lost != nil {
		return driver.ErrBadConn
	}
	if r, ok := c.Conn.(driver.SessionResetter); ok {
		return r.ResetSession(ctx)
	}
	return nil
}

// Close closes the connection, if it is lost when that is possible.
func (c *deafConn) Close() error {
	if c.lost == nil {
		return c.Conn.Close()
	}
	go func() {
		<-c.lost
		_ = c.Conn.Close()
	}()
	return nil
}

// ExecContext implements driver.ExecerContext.
func (c *deafConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	x, ok := c.Conn.(driver.ExecerContext)
	if !ok {
		return nil, driver.ErrSkip
	}
	return answered(ctx, c, func() (driver.Result, error) { return x.ExecContext(ctx, query, args) })
}

// QueryContext implements driver.QueryerContext.
func (c *deafConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	x, ok := c.Conn.(driver.QueryerContext)
	if !ok {
		return nil, driver.ErrSkip
	}
	rows, err := answered(ctx, c, func() (driver.Rows, error) { return x.QueryContext(ctx, query, args) })
	if err != nil {
		return nil, err
	}
	return &deafRows{rows, c, ctx}, nil
}

// BeginTx implements driver.ConnBeginTx.
func (c *deafConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := answered(ctx, c, func() (driver.Tx, error) {
		if x, ok := c.Conn.(driver.ConnBeginTx); ok {
			return x.BeginTx(ctx, opts)
		}
		return c.Conn.Begin() //nolint:staticcheck // the driver has no other
	})
	if err != nil {
		return nil, err
	}
	return deafTx{tx, c, ctx}, nil
}

// deafTx is a transaction of a deafConn.
type deafTx struct {
	driver.Tx
	conn *deafConn
	ctx  context.Context //nolint:containedctx // of the transaction
}

// Commit implements driver.Tx.
func (t deafTx) Commit() error { return t.end(t.Tx.Commit) }

// Rollback implements driver.Tx.
func (t deafTx) Rollback() error { return t.end(t.Tx.Rollback) }

func (t deafTx) end(f func() error) error {
	if t.conn.lost != nil {
		return driver.ErrBadConn
	}
	_, err := answered(t.ctx, t.conn, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// deafRows are rows of a deafConn.
type deafRows struct {
	driver.Rows
	conn *deafConn
	ctx  context.Context //nolint:containedctx // of the query, which it reads the rows of
}

// Next implements driver.Rows.
func (r *deafRows) Next(dest []driver.Value) error {
	row, err := answered(r.ctx, r.conn, func() ([]driver.Value, error) {
		row := make([]driver.Value, len(dest)) // dest belongs to the caller, who may be gone
		return row, r.Rows.Next(row)
	})
	copy(dest, row)
	return err
}

// Close implements driver.Rows.
func (r *deafRows) Close() error {
	if r.conn.lost != nil {
		return nil
	}
	_, err := answered(r.ctx, r.conn, func() (struct{}, error) { return struct{}{}, r.Rows.Close() })
	return err
}
