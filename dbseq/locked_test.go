package dbseq_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLockOfAnother: calls that wait for a lock of another program are given up on the server
// soon after the client gave up, so they do not use up its connections.
func TestLockOfAnother(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, e engine, dsn string) {
		if e.dialect != "mysql" {
			return // cancels, or waits by itself
		}
		db := e.db(t, dsn)
		c := center(t, db)
		g := first(t, c, request("orders", 2))
		driver, dsn := place(db)
		pool, err := sql.Open(driver, dsn)
		require.NoError(t, err)
		defer pool.Close()
		tx, err := pool.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), "UPDATE snowlease_slot SET ticket = ticket + 1")
		require.NoError(t, err)
		most := int64(0)
		for range 40 {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			_, err := c.Renew(ctx, g)
			cancel()
			require.Error(t, err)
			most = max(most, number(t, db, "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND info LIKE 'UPDATE snowlease_slot%'"))
		}
		require.Positive(t, most)
		require.Less(t, most, int64(20), "at most those of the last second, and a few")
		require.NoError(t, tx.Rollback())
		_, err = c.Renew(t.Context(), g)
		require.NoError(t, err)
	})
}
