package dbseq_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
)

// TestRenewalReadsNoOtherSlots: a renewal reads no more in a pool of 1,024 than in one of
// 32, which PostgreSQL may read as a whole. A repeated Acquire reads all slots, which
// shows that the counts see them.
func TestRenewalReadsNoOtherSlots(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		least, _, _ := rowsRead(t, e, dsn, 32, 0)
		renewal, again, _ := rowsRead(t, e, dsn, 1024, 0)
		require.LessOrEqual(t, renewal, least)
		if e.speaks == "sqlite" {
			require.Zero(t, renewal)
			require.Positive(t, again)
			return
		}
		require.GreaterOrEqual(t, again, int64(1024))
	})
}

// TestNoForeignRowsAreRead: whoever writes any number of slots beyond the pool, and of tickets, does not
// make calls read them.
func TestNoForeignRowsAreRead(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		if e.speaks == "sqlite" { // wideSteps fails there for a step without a bound
			rowsRead(t, e, dsn, 32, 0)
			return
		}
		_, again, release := rowsRead(t, e, dsn, 32, 1000)
		require.Less(t, again, int64(500))
		require.Less(t, release, int64(500))
	})
}

// rowsRead returns how many rows a renewal, a repeated Acquire and a release read, with a
// number of rows beyond the pool and of foreign tickets. On SQLite it returns how many steps
// of their plans look for more than one slot.
func rowsRead(t *testing.T, e engine, dsn string, pool, foreign int64) (renewal, again, release int64) {
	t.Helper()
	conn, n := countedPool(t, e, dsn)
	conn.SetMaxOpenConns(1) // MySQL counts by session
	c, err := dbseq.New(conn, e.dialect)
	require.NoError(t, err)
	g := first(t, c, request(fmt.Sprint("pool-", pool), pool))
	for slot := range foreign {
		for _, text := range []string{
			fmt.Sprintf(`INSERT INTO snowlease_slot (ns, slot, owner, holder, token, ver, ticket, seen_ms, since_ms, floor_ms, expires_ms, hwm_ms)
				VALUES ('%s', %d, '', '', 0, 0, 0, 0, 0, 0, 0, 0)`, g.Namespace, pool+slot),
			fmt.Sprintf("INSERT INTO snowlease_ticket (id, ns, owner) VALUES (%d, 'zz', '')", -1-slot),
		} {
			_, err := conn.ExecContext(t.Context(), text)
			require.NoError(t, err)
		}
	}
	if e.speaks == "postgres" {
		_, err := conn.ExecContext(t.Context(), "ANALYZE")
		require.NoError(t, err)
	}

	// sum returns the sum of the numbers that a query returns beside names.
	sum := func(query string) (all int64) {
		rows, err := conn.QueryContext(t.Context(), query)
		require.NoError(t, err)
		defer rows.Close()
		for rows.Next() {
			var name string
			var value int64
			require.NoError(t, rows.Scan(&name, &value))
			all += value
		}
		require.NoError(t, rows.Err())
		return all
	}
	var ran []string
	n.before = func(_ int64, query string) error {
		ran = append(ran, query)
		return nil
	}
	var read func() int64
	switch e.speaks {
	case "mysql":
		read = func() int64 { return sum("SHOW SESSION STATUS LIKE 'Handler_read%'") }
	case "postgres":
		read = func() int64 {
			_, err := conn.ExecContext(t.Context(), "SELECT pg_stat_force_next_flush()")
			require.NoError(t, err)
			return sum("SELECT relname::text, seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables WHERE relname LIKE 'snowlease%'")
		}
	default:
		read = func() (wide int64) {
			statements := ran
			for _, statement := range statements {
				for i := range 20 { // parameters that the plan does not depend on
					statement = strings.ReplaceAll(statement, fmt.Sprint("?", 20-i), "1")
				}
				wide += wideSteps(t, conn, statement)
			}
			ran = nil
			return wide
		}
	}
	count := func(verb func() error) int64 {
		ran = nil
		before := read()
		require.NoError(t, verb())
		return read() - before
	}
	renewal = count(func() error { _, err := c.Renew(t.Context(), g); return err })
	again = count(func() error { _, err := c.Acquire(t.Context(), g.Request); return err })
	release = count(func() error { return c.Release(t.Context(), g, g.Ceiling) })
	return renewal, again, release
}

// wideSteps returns how many steps of the plan of a statement on SQLite look for more than
// one slot.
func wideSteps(t *testing.T, conn *sql.DB, statement string) (n int64) {
	t.Helper()
	rows, err := conn.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+statement)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int64
		var detail string
		require.NoError(t, rows.Scan(&id, &parent, &unused, &detail))
		require.NotContains(t, detail, "SCAN snowlease_ticket", statement)
		if strings.Contains(detail, "snowlease_slot") && !strings.Contains(detail, "ns=? AND slot=?") {
			n++
			require.NotContains(t, detail, "(ns=?)", statement)
		}
	}
	require.NoError(t, rows.Err())
	return n
}
