package dbseq

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// deaf is a driver that heeds no context, as lib/pq does not while a server is paused.
type deaf struct {
	hangs  atomic.Value // where: "open", "query", "row", "exec"
	until  chan struct{}
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
	if err := d.at("open"); err != nil {
		return nil, err
	}
	return deafServer{d}, nil
}

type deafServer struct{ d *deaf }

func (deafServer) Prepare(string) (driver.Stmt, error) { return nil, errors.New("unused") }
func (deafServer) Begin() (driver.Tx, error)           { return nil, errors.New("unused") }
func (s deafServer) Close() error                      { s.d.closed.Add(1); return nil }

func (s deafServer) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return driver.RowsAffected(1), s.d.at("exec")
}

func (s deafServer) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return &deafAnswer{d: s.d}, s.d.at("query")
}

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
	for _, where := range []string{"open", "query", "row", "exec"} {
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
				_, err := pool.ExecContext(ctx, "UPDATE")
				return err
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
