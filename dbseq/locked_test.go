package dbseq_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLockOfAnother: calls that wait for a lock of another program are given up on the server
// soon after the client gave up, so they do not use up its connections.
func TestLockOfAnother(t *testing.T) {
	onThose(t, "mysql", func(t *testing.T, e engine, dsn string) { // the others cancel what the client gave up
		db := e.db(t, dsn)
		c := center(t, db)
		g := first(t, c, request("orders", 2))
		waiting := func() int64 {
			return number(t, db, "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND info LIKE 'UPDATE %snowlease_slot%'")
		}
		other, err := e.pool(t, dsn).Conn(t.Context())
		require.NoError(t, err)
		defer other.Close()
		run := func(statement string) {
			_, err := other.ExecContext(t.Context(), statement)
			require.NoError(t, err)
		}
		for lock, unlock := range map[string]string{
			"UPDATE snowlease_slot SET ticket = ticket + 1": "ROLLBACK", "LOCK TABLES snowlease_slot READ": "UNLOCK TABLES",
		} {
			run("BEGIN")
			run(lock)
			for waiting() < 5 {
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				_, err := c.Renew(ctx, g)
				cancel()
				require.Error(t, err, lock)
			}
			// By default, the server waits for 50 s, or for a table a day and more.
			require.Eventually(t, func() bool { return waiting() == 0 }, 20*time.Second, 50*time.Millisecond, lock)
			run(unlock)
			_, err = c.Renew(t.Context(), g)
			require.NoError(t, err)
		}
	})
}
