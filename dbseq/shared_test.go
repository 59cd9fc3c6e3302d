package dbseq_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/internal/sqlnumbers"
	"github.com/snowlease/snowlease/lease"
)

// TestSharedPoolWithoutAutocommit: an application turns autocommit off on a connection of a pool
// that it shares, or of all. What is written there is committed, and no transaction is left open.
func TestSharedPoolWithoutAutocommit(t *testing.T) {
	for _, set := range []string{"autocommit=0", "autocommit=1&completion_type=CHAIN"} {
		onThose(t, "mysql", func(t *testing.T, e engine, dsn string) {
			db := e.db(t, dsn)
			pool := e.pool(t, dsn+"&"+set)
			pool.SetMaxOpenConns(1)
			c, err := dbseq.New(pool, dbseq.MySQL)
			require.NoError(t, err)
			numbers := c.Numbers().(*sqlnumbers.Store)
			require.NoError(t, c.Extras().Init(t.Context(), request("orders", 2)))
			require.NoError(t, numbers.Create(t.Context(), "shop/orders", 1))
			_, err = pool.ExecContext(t.Context(), "SET autocommit = 0")
			require.NoError(t, err)

			var g lease.Grant
			for what, do := range []func() error{
				func() (err error) { g, err = c.Acquire(t.Context(), request("orders", 2)); return err },
				func() (err error) { g, err = c.Renew(t.Context(), g); return err },
				func() error { return numbers.Create(t.Context(), "shop/bills", 1) },
				func() error {
					_, err := numbers.Reserve(t.Context(), numberstore.Request{Name: "shop/orders", N: 5, Start: 1, Max: 100})
					return err
				},
				func() error { return c.Extras().Init(t.Context(), request("bills", 2)) },
			} {
				require.NoError(t, do(), what)
				_, err := pool.ExecContext(t.Context(), "ROLLBACK")
				require.NoError(t, err)
			}
			require.Equal(t, g.Ceiling, number(t, db, "SELECT hwm_ms FROM snowlease_slot WHERE ns = 'orders' AND slot = ?", g.Worker))
			require.EqualValues(t, 5, number(t, db, "SELECT max_id FROM snowlease_segment WHERE name = 'shop/orders'"))
			require.EqualValues(t, 2, number(t, db, "SELECT COUNT(*) FROM snowlease_slot WHERE ns = 'bills'"))
			// What others have changed is seen.
			rawExec(t, db, "UPDATE snowlease_segment SET max_id = 50 WHERE name = 'shop/orders'")
			given, err := numbers.HighWater(t.Context(), "shop/orders")
			require.NoError(t, err)
			require.EqualValues(t, 50, given)
			require.NoError(t, c.Release(t.Context(), g, g.Floor))
			require.Zero(t, number(t, db, "SELECT COUNT(*) FROM snowlease_slot WHERE since_ms > 0"))
		})
	}
}
