package dbseq_test

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/lease"
)

// TestSharedPoolWithoutAutocommit: an application that turns autocommit off on a pool that it
// shares gets errors, since what is written there may never be committed.
func TestSharedPoolWithoutAutocommit(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		if e.speaks != "mysql" {
			return // has no such setting
		}
		db := e.db(t, dsn)
		driver, dsn := place(db)
		pool, err := sql.Open(driver, dsn)
		require.NoError(t, err)
		defer pool.Close()
		pool.SetMaxOpenConns(1)
		c, err := dbseq.New(pool, dbseq.MySQL)
		require.NoError(t, err)
		numbers, err := dbseq.NewSegments(pool, dbseq.MySQL)
		require.NoError(t, err)
		require.NoError(t, c.Extras().Init(t.Context(), request("orders", 2)))
		require.NoError(t, numbers.Create(t.Context(), "orders", 1))
		g := acquire(t, c, request("orders", 2))

		autocommit := func(value string) {
			_, err := pool.ExecContext(t.Context(), "SET autocommit = "+value)
			require.NoError(t, err)
		}
		autocommit("0")
		reserve := numberstore.Request{Name: "orders", N: 5, Start: 1, Max: 100}
		for what, do := range map[string]func() error{
			"acquire": func() error { _, err := c.Acquire(t.Context(), request("orders", 2)); return err },
			"renew":   func() error { _, err := c.Renew(t.Context(), g); return err },
			"release": func() error { return c.Release(t.Context(), g, g.Floor) },
			"revoke":  func() error { return c.Extras().Operator.Revoke(t.Context(), "orders", g.Worker, g.Token) },
			"pause": func() error {
				_, err := c.Extras().Operator.Quarantine(t.Context(), "orders", "test")
				return err
			},
			"init":    func() error { return c.Extras().Init(t.Context(), request("bills", 2)) },
			"reserve": func() error { _, err := numbers.Reserve(t.Context(), reserve); return err },
			"create":  func() error { return numbers.Create(t.Context(), "bills", 1) },
		} {
			err := do()
			require.ErrorContains(t, err, "autocommit is off on a connection", what)
			require.ErrorIs(t, err, lease.ErrSetup, what)
			require.NotErrorIs(t, err, lease.ErrLost, what)
		}
		_, err = pool.ExecContext(t.Context(), "COMMIT")
		require.NoError(t, err)
		require.EqualValues(t, 0, number(t, db, "SELECT COUNT(*) FROM snowlease_meta WHERE ns = 'bills' OR quarantine_ms > 0"))
		require.EqualValues(t, 0, number(t, db, "SELECT COUNT(*) FROM snowlease_segment WHERE name = 'bills' OR max_id > 0"))
		require.EqualValues(t, g.Ceiling, number(t, db, "SELECT hwm_ms FROM snowlease_slot WHERE ns = 'orders' AND slot = ?", g.Worker))

		autocommit("1")
		_, err = c.Renew(t.Context(), g)
		require.NoError(t, err)
		got, err := numbers.Reserve(t.Context(), reserve)
		require.NoError(t, err)
		require.Equal(t, numberstore.Range{First: 1, Last: 5}, got)
	})
}
