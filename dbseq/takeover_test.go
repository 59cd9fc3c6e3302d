package dbseq_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/migrate/takeover"
	"github.com/snowlease/snowlease/snowflake"
)

// before waits for a step of a call that must not end before.
func before(t *testing.T, step <-chan struct{}, end <-chan error) {
	t.Helper()
	select {
	case <-step:
	case err := <-end:
		t.Fatalf("ended before: %v", err)
	}
}

// A pin of a form that only another version knows refuses every member, and stays.
func TestPinOfAnotherVersion(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, e engine, dsn string) {
		db := e.db(t, dsn)
		c, _ := counted(t, e, db, dsn)
		require.NoError(t, c.Extras().Init(t.Context(), request("orders", 2)))
		const pin = "form=2 layout={other}"
		rawExec(t, db, "UPDATE snowlease_meta SET pin = ? WHERE ns = 'orders'", pin)
		_, err := c.Acquire(t.Context(), request("orders", 2))
		var mismatch *lease.MismatchError
		require.ErrorAs(t, err, &mismatch)
		rec, err := c.Extras().Operator.Record(t.Context(), "orders")
		require.NoError(t, err)
		require.Equal(t, pin, rec.Pin.String())
	})
}

// pausing retires a namespace after pause.
type pausing struct {
	lease.Operator
	pause func()
}

func (p pausing) Retire(ctx context.Context, namespace, reason string) error {
	p.pause()
	return p.Operator.Retire(ctx, namespace, reason)
}

// pausingCenter is a center with a pausing operator.
type pausingCenter struct {
	lease.Center
	pause func()
}

func (p pausingCenter) Extras() lease.Extras {
	extras := p.Center.Extras()
	extras.Operator = pausing{extras.Operator, p.pause}
	return extras
}

// A takeover that is paused before it retires a namespace sees a borrow that was sent then and
// is committed afterwards.
func TestTakeoverSeesALateBorrow(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, e engine, dsn string) {
		db := e.db(t, dsn)
		c, n := counted(t, e, db, dsn)
		layout := snowflake.Layout{}.WithDefaults()
		side := func(c lease.Center, namespace string) takeover.Side {
			req := request(namespace, 2)
			req.Layout = layout.String()
			require.NoError(t, c.Extras().Init(t.Context(), req))
			return takeover.Side{Center: c, Request: req, Layout: layout}
		}
		late := time.Now().Add(3 * time.Second).UnixMilli()
		old := side(pausingCenter{c, func() {
			tx := db.Begin()
			rawExec(t, tx, "UPDATE snowlease_slot SET owner = 'x', ver = ver + 1, token = token + 1, expires_ms = ?, hwm_ms = ? WHERE ns = 'orders' AND slot = 1", late, late)
			if e.speaks == "sqlite" { // others wait to write
				require.NoError(t, tx.Commit().Error)
				return
			}
			t.Cleanup(func() { tx.Rollback() })
			n.before = once("UPDATE snowlease_slot", func() { require.NoError(t, tx.Commit().Error) })
		}}, "orders")
		r, err := takeover.Take(t.Context(), old, side(c, "orders-2"))
		require.NoError(t, err)
		require.True(t, r.Retired)
		require.GreaterOrEqual(t, r.Mark, late)
		require.GreaterOrEqual(t, r.Floor, late)
	})
}
