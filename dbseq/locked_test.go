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
		if e.speaks != "mysql" {
			return // the server cancels what the client gave up
		}
		db := e.db(t, dsn)
		c := center(t, db)
		g := first(t, c, request("orders", 2))
		driver, dsn := place(db)
		pool, err := sql.Open(driver, dsn)
		require.NoError(t, err)
		defer pool.Close()
		for what, lock := range map[string][2]string{
			"the rows":  {"UPDATE snowlease_slot SET ticket = ticket + 1", "ROLLBACK"},
			"the table": {"LOCK TABLES snowlease_slot READ", "UNLOCK TABLES"},
		} {
			other, err := pool.Conn(t.Context())
			require.NoError(t, err)
			for _, text := range []string{"BEGIN", lock[0]} {
				_, err = other.ExecContext(t.Context(), text)
				require.NoError(t, err)
			}
			most := int64(0)
			for range 60 {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				_, err := c.Renew(ctx, g)
				cancel()
				require.Error(t, err)
				most = max(most, number(t, db, "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND info LIKE 'UPDATE %snowlease_slot%'"))
			}
			require.Positive(t, most, what)
			require.Less(t, most, int64(40), "%s: at most those of the last two seconds, and a few", what)
			_, err = other.ExecContext(t.Context(), lock[1])
			require.NoError(t, err)
			require.NoError(t, other.Close())
			_, err = c.Renew(t.Context(), g)
			require.NoError(t, err)
		}
	})
}
