package dbseq

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// deaf is a driver that heeds no context, as lib/pq does not while a server is paused.
type deaf struct {
	hangs  atomic.Value // where: "open", "query", "row", "begin", "exec", "commit"
	until  chan struct{}
	opens  atomic.Int64
	closed atomic.Int64
}

func (d *deaf) at(where string) error {
	if d.hangs.Load() != where {
		return nil
	}
	<-d.until
	return errors.New("cut off")
}

func (d *deaf) Open(string) (driver.Conn, error) {
	d.opens.Add(1)
	defer d.opens.Add(-1)
	if err := d.at("open"); err != nil {
		return nil, err
	}
	return deafServer{d}, nil
}

type deafServer struct{ d *deaf }

func (deafServer) Prepare(string) (driver.Stmt, error) { return nil, errors.New("unused") }
func (s deafServer) Begin() (driver.Tx, error)         { return deafTransaction(s), s.d.at("begin") }
func (s deafServer) Close() error                      { s.d.closed.Add(1); return nil }

func (s deafServer) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return driver.RowsAffected(1), s.d.at("exec")
}

func (s deafServer) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return &deafAnswer{d: s.d}, s.d.at("query")
}

type deafTransaction struct{ d *deaf }

func (x deafTransaction) Commit() error { return x.d.at("commit") }
func (deafTransaction) Rollback() error { return nil }

type deafAnswer struct {
	d    *deaf
	read bool
}

func (*deafAnswer) Columns() []string { return []string{"n"} }
func (*deafAnswer) Close() error      { return nil }

func (a *deafAnswer) Next(dest []driver.Value) error {
	if err := a.d.at("row"); err != nil || a.read {
		return errors.Join(err, map[bool]error{true: io.EOF}[a.read])
	}
	a.read, dest[0] = true, int64(7)
	return nil
}

// TestDeafDriver: a call of a driver that heeds no context ends soon after its context, and the next
// one gets another connection.
func TestDeafDriver(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"open", "query", "row", "begin", "exec", "commit"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			d := &deaf{until: make(chan struct{})}
			d.hangs.Store(where)
			c, err := newConnector(d, dialects[Postgres], "host=db dbname=app")
			require.NoError(t, err)
			pool := sql.OpenDB(c)
			pool.SetMaxOpenConns(1)
			do := func(within time.Duration) error {
				ctx, cancel := context.WithTimeout(t.Context(), within)
				defer cancel()
				var n int
				if err := pool.QueryRowContext(ctx, "SELECT 7").Scan(&n); err != nil {
					return err
				}
				tx, err := pool.BeginTx(ctx, nil)
				if err != nil {
					return err
				}
				defer func() { _ = tx.Rollback() }()
				if _, err := tx.ExecContext(ctx, "UPDATE"); err != nil {
					return err
				}
				return tx.Commit()
			}
			done := make(chan error, 1)
			go func() { done <- do(100 * time.Millisecond) }()
			select {
			case err = <-done:
				require.ErrorIs(t, err, context.DeadlineExceeded)
			case <-time.After(30 * time.Second):
				require.Fail(t, "it goes on after its context")
			}
			d.hangs.Store("nowhere")
			require.NoError(t, do(30*time.Second))
			close(d.until)
			require.NoError(t, pool.Close())
			require.Eventually(t, func() bool { return d.closed.Load() > 0 }, 30*time.Second, time.Millisecond)
		})
	}
}

// TestDeafOpens: while a server answers nothing, calls do not leave ever more connections behind
// that are being opened.
func TestDeafOpens(t *testing.T) {
	t.Parallel()
	d := &deaf{until: make(chan struct{})}
	d.hangs.Store("open")
	c, err := newConnector(d, dialects[Postgres], "host=db dbname=app")
	require.NoError(t, err)
	pool := sql.OpenDB(c)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	var calls sync.WaitGroup
	for range mostHanging + 5 {
		calls.Go(func() { assert.Error(t, pool.PingContext(ctx)) })
	}
	calls.Wait()
	require.LessOrEqual(t, d.opens.Load(), int64(mostHanging))
	d.hangs.Store("nowhere")
	close(d.until)
	require.Eventually(t, func() bool { return pool.PingContext(t.Context()) == nil }, 30*time.Second, time.Millisecond)
	require.NoError(t, pool.Close())
}

// TestPoolAfterACutWithWaiters: database/sql opens a connection for a caller that waits without a
// deadline. Such openings do not keep the pool when the server is back.
func TestPoolAfterACutWithWaiters(t *testing.T) {
	t.Parallel()
	d := &deaf{until: make(chan struct{})}
	d.hangs.Store("open")
	c, err := newConnector(d, dialects[Postgres], "host=db dbname=app")
	require.NoError(t, err)
	pool := sql.OpenDB(c)
	pool.SetMaxOpenConns(2) // as connect does
	var calls sync.WaitGroup
	call := func(within time.Duration) (giveUp context.CancelFunc) {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		calls.Go(func() {
			defer cancel()
			assert.Error(t, pool.PingContext(ctx))
		})
		return cancel
	}
	metrics, console := call(30*time.Second), call(30*time.Second) // each holds a slot
	require.Eventually(t, func() bool { return pool.Stats().OpenConnections == 2 }, 30*time.Second, time.Millisecond)
	call(4 * time.Second) // a keeper: waits for a slot
	require.Eventually(t, func() bool { return pool.Stats().WaitCount == 1 }, 4*time.Second, time.Millisecond)
	metrics()
	console()
	calls.Wait()
	d.hangs.Store("nowhere") // the server is back; the former dials go on
	require.Eventually(t, func() bool { return pool.PingContext(t.Context()) == nil }, 30*time.Second, time.Millisecond)
	close(d.until)
	require.NoError(t, pool.Close())
}
