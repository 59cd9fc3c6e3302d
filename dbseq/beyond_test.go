package dbseq_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// Rows beyond the pool, which another program wrote, are neither listed nor counted.
// They show that a namespace was in use.
func TestSlotsBeyondThePool(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, e engine, dsn string) {
		db := e.db(t, dsn)
		c := center(t, db)
		first(t, c, request("orders", 4))
		for _, slot := range []int64{-1, 4, 1 << 19} {
			rawExec(t, db, `INSERT INTO snowlease_slot (ns, slot, owner, holder, token, ver, ticket, seen_ms, since_ms, floor_ms, expires_ms, hwm_ms)
				VALUES ('orders', ?, '', '', 0, 0, 0, 0, 0, 0, 0, 0)`, slot)
		}
		slots, err := c.Extras().Lister.Slots(t.Context(), "orders")
		require.NoError(t, err)
		require.Len(t, slots, 4)

		rawExec(t, db, "DELETE FROM snowlease_slot WHERE slot = 2")
		_, err = c.Acquire(t.Context(), request("orders", 4))
		require.ErrorAs(t, err, new(*lease.QuarantineError), "they do not hide a loss")

		rawExec(t, db, "DELETE FROM snowlease_meta")
		rawExec(t, db, "DELETE FROM snowlease_slot WHERE slot BETWEEN 0 AND 3")
		_, err = c.Acquire(t.Context(), request("orders", 4))
		require.ErrorContains(t, err, "the record of the namespace was missing", "not a new namespace")

		require.NoError(t, c.Extras().Init(t.Context(), request("bills", 4)))
		rawExec(t, db, "UPDATE snowlease_slot SET ns = 'bills' WHERE ns = 'orders' AND slot = 4")
		other := request("bills", 4)
		other.Layout = "other"
		require.ErrorIs(t, c.Extras().Init(t.Context(), other), lease.ErrExists, "not unused")
	})
}

// A worker id whose token or version leaves no room for others is not lent, since what a borrow
// would write could not be read or renewed.
func TestNumbersAtTheTop(t *testing.T) {
	t.Parallel()
	const top, lent int64 = 899_999_999_999_999, 899_998_999_999_999
	onEach(t, func(t *testing.T, e engine, dsn string) {
		db := e.db(t, dsn)
		c := center(t, db)
		require.NoError(t, c.Extras().Init(t.Context(), request("orders", 1)))
		for _, column := range []string{"token", "ver"} {
			set := "UPDATE snowlease_slot SET " + column + " = ?"
			rawExec(t, db, set, lent)
			g := acquire(t, c, request("orders", 1))
			g, err := c.Renew(t.Context(), g)
			require.NoError(t, err)
			for _, n := range []int64{lent + 1, top} {
				require.NoError(t, c.Release(t.Context(), g, g.Floor), column)
				rawExec(t, db, set, n)
				_, err = c.Acquire(t.Context(), request("orders", 1))
				require.ErrorIs(t, err, lease.ErrDamaged, column)
				require.ErrorContains(t, err, column+" of worker id 0 is ")
				require.Equal(t, n, number(t, db, "SELECT "+column+" FROM snowlease_slot"), "written to")
				rawExec(t, db, set, 1)
				g = acquireSoon(t, c, request("orders", 1))
				g, err = c.Renew(t.Context(), g)
				require.NoError(t, err)
			}
			require.NoError(t, c.Release(t.Context(), g, g.Floor), column)
		}

		// A greater one is named wherever the row is read.
		rawExec(t, db, "UPDATE snowlease_slot SET ver = ?", int64(math.MaxInt64))
		_, err := c.Extras().Lister.Slots(t.Context(), "orders")
		require.ErrorIs(t, err, lease.ErrDamaged)
		require.ErrorContains(t, err, "ver of worker id 0 is ")
		rawExec(t, db, "UPDATE snowlease_slot SET ver = 1, expires_ms = 1, hwm_ms = 1")

		// A holder whose version another program raised is told so.
		g := acquire(t, c, request("orders", 1))
		rawExec(t, db, "UPDATE snowlease_slot SET ver = ?", top-1)
		g, err = c.Renew(t.Context(), g)
		require.NoError(t, err)
		_, err = c.Renew(t.Context(), g)
		require.ErrorIs(t, err, lease.ErrDamaged)
		rawExec(t, db, "UPDATE snowlease_slot SET ver = 1")

		// Nor does its holder get another range.
		rawExec(t, db, "UPDATE snowlease_slot SET token = ?", top)
		_, err = c.Extras().Operator.Quarantine(t.Context(), "orders", "by hand")
		require.NoError(t, err)
		_, err = c.Renew(t.Context(), g)
		require.ErrorIs(t, err, lease.ErrDamaged)
	})
}
