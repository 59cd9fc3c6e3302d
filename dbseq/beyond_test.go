package dbseq_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// Rows beyond the pool, which another program wrote, are neither listed nor counted.
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
	})
}
