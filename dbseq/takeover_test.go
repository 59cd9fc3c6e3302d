package dbseq_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/takeover"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// A takeover that is paused before it retires a namespace sees a borrow that was sent then and
// is committed afterwards. One that waits for a free slot is refused by the version: PostgreSQL still
// shows it the namespace as it was.
func TestTakeoverSeesALateBorrow(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, e engine, dsn string) {
		if e.speaks == "sqlite" { // where the transaction that retires waits for all others
			return
		}
		db := e.db(t, dsn)
		c, n := counted(t, e, dsn)
		layout := snowflake.Layout{}.WithDefaults()
		side := func(c lease.Center, namespace string) takeover.Side {
			req := request(namespace, 2)
			req.Layout = layout.String()
			require.NoError(t, c.Extras().Init(t.Context(), req))
			return takeover.Side{Center: c, Request: req, Layout: layout}
		}
		late := time.Now().Add(time.Second).UnixMilli()
		old, next := side(c, "orders"), side(c, "orders-2")
		n.before = once("UPDATE snowlease_meta", func() { // which retires the namespace
			tx := db.Begin()
			rawExec(t, tx, "UPDATE snowlease_slot SET owner = 'x', ver = ver + 1, token = token + 1, expires_ms = ?, hwm_ms = ? WHERE ns = 'orders' AND slot = 1", late, late)
			t.Cleanup(func() { tx.Rollback() })
			n.before = once("UPDATE snowlease_slot", func() { require.NoError(t, tx.Commit().Error) })
		})
		r, err := takeover.Take(t.Context(), old, next)
		require.NoError(t, err)
		require.True(t, r.Retired)
		require.GreaterOrEqual(t, r.Mark, late)
		slots, err := c.Extras().Lister.Slots(t.Context(), "orders-2")
		require.NoError(t, err)
		for _, s := range slots {
			require.GreaterOrEqual(t, s.HighWater, late)
		}
		require.NoError(t, side(c, "free").Center.Extras().Operator.Retire(t.Context(), "free", "moved"))
		require.EqualValues(t, 1, number(t, db, "SELECT MIN(ver - token) FROM snowlease_slot WHERE ns = 'free'"))
	})
}
