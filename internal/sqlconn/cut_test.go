package sqlconn

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
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
	synctest.Test(t, func(t *testing.T) {
		d := new(cuttable)
		d.cut.Store(true)
		c, err := newConnector(d, dialects["postgres"], "host=db dbname=app")
		require.NoError(t, err)
		pool := sql.OpenDB(c)
		defer pool.Close()
		pool.SetMaxOpenConns(2) // as connect does
		var calls sync.WaitGroup
		call := func(within time.Duration) (giveUp context.CancelFunc) {
			ctx, cancel := context.WithTimeout(t.Context(), within)
			calls.Go(func() {
				defer cancel()
				assert.Error(t, pool.PingContext(ctx))
			})
			synctest.Wait()
			return cancel
		}
		metrics, console := call(time.Minute), call(time.Minute) // each holds a place
		call(4 * time.Second)                                    // a keeper
		require.EqualValues(t, 1, pool.Stats().WaitCount)
		metrics()
		console()
		calls.Wait()
		d.cut.Store(false) // what was begun before goes on
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for pool.PingContext(ctx) != nil { // such an opening fails for a later caller too
			require.NoError(t, ctx.Err())
		}
	})
}
