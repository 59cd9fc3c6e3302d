package dbseq_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/lease"
)

// silent is a server that never answers.
type silent struct{}

func (silent) Driver() driver.Driver { return nil }

func (silent) Connect(ctx context.Context) (driver.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestServerNeverAnswers calls everything without a deadline.
func TestServerNeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := sql.OpenDB(silent{})
		defer pool.Close()
		c, err := dbseq.New(pool, dbseq.Postgres)
		require.NoError(t, err)
		numbers := segmentsOn(t, pool, dbseq.Postgres)
		req := request("orders", 32)
		g := lease.Grant{Request: req, Token: 1, Now: 1, Floor: 1, Ceiling: 2}
		operator := c.Extras().Operator
		for name, call := range map[string]func(context.Context) error{
			"Acquire":     func(ctx context.Context) error { _, err := c.Acquire(ctx, req); return err },
			"Renew":       func(ctx context.Context) error { _, err := c.Renew(ctx, g); return err },
			"Release":     func(ctx context.Context) error { return c.Release(ctx, g, 1) },
			"Init":        func(ctx context.Context) error { return c.Extras().Init(ctx, req) },
			"Slots":       func(ctx context.Context) error { _, err := c.Extras().Lister.Slots(ctx, "orders"); return err },
			"Incarnation": func(ctx context.Context) error { _, err := operator.Incarnation(ctx, "orders"); return err },
			"Record":      func(ctx context.Context) error { _, err := operator.Record(ctx, "orders"); return err },
			"Quarantine":  func(ctx context.Context) error { _, err := operator.Quarantine(ctx, "orders", "test"); return err },
			"Revoke":      func(ctx context.Context) error { return operator.Revoke(ctx, "orders", 0, 1) },
			"Retire":      func(ctx context.Context) error { return operator.Retire(ctx, "orders", "test") },
			"Create":      func(ctx context.Context) error { return numbers.Create(ctx, "shop/invoices", 1) },
			"Given":       func(ctx context.Context) error { _, err := numbers.HighWater(ctx, "shop/invoices"); return err },
			"Reserve": func(ctx context.Context) error {
				_, err := numbers.Reserve(ctx, numberstore.Request{Name: "shop/invoices", N: 1, Start: 1, Max: 9})
				return err
			},
		} {
			require.ErrorIs(t, call(context.Background()), context.DeadlineExceeded, name)
		}
		_, err = c.Extras().Examine(context.Background(), "orders")
		require.NoError(t, err, "its findings tell")
	})
}
