package dbseq

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A cuttable is a driver that opens no connection while the server is cut off.
type cuttable struct{ cut atomic.Bool }

func (c *cuttable) Open(string) (driver.Conn, error)               { return nil, errors.New("unused") }
func (c *cuttable) OpenConnector(string) (driver.Connector, error) { return c, nil }
func (c *cuttable) Driver() driver.Driver                          { return c }

func (c *cuttable) Connect(ctx context.Context) (driver.Conn, error) {
	if c.cut.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return idle{}, nil
}

type idle struct{ driver.Conn }

func (idle) Close() error { return nil }

// TestPoolAfterACutWithWaiters: database/sql opens a connection for a caller that waits without a
// deadline. Such openings do not keep the pool when the server is back.
func TestPoolAfterACutWithWaiters(t *testing.T) {
	t.Parallel()
	d := new(cuttable)
	d.cut.Store(true)
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
	metrics, console := call(30*time.Second), call(30*time.Second) // each holds a place
	require.Eventually(t, func() bool { return pool.Stats().OpenConnections == 2 }, 30*time.Second, time.Millisecond)
	call(4 * time.Second) // a keeper: waits for a place
	require.Eventually(t, func() bool { return pool.Stats().WaitCount == 1 }, 4*time.Second, time.Millisecond)
	metrics()
	console()
	calls.Wait()
	d.cut.Store(false) // what was begun before goes on
	require.Eventually(t, func() bool { return pool.PingContext(t.Context()) == nil }, 30*time.Second, time.Millisecond)
	require.NoError(t, pool.Close())
}
