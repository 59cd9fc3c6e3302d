package casstore_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/casstore"
	"github.com/snowlease/snowlease/lease"
)

// silent is a store that never answers.
type silent struct{}

func (silent) Load(ctx context.Context, _ string) (casstore.Record, error) {
	<-ctx.Done()
	return casstore.Record{}, ctx.Err()
}

func (silent) Swap(ctx context.Context, _, _ string, _ []byte) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

// TestStoreNeverAnswers calls everything without a deadline.
func TestStoreNeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := casstore.New(silent{})
		req := request("orders")
		g := lease.Grant{Request: req, Token: 1, Now: 1, Floor: 1, Ceiling: 2}
		extras := c.Extras()
		for name, call := range map[string]func(context.Context) error{
			"Acquire":     func(ctx context.Context) error { _, err := c.Acquire(ctx, req); return err },
			"Renew":       func(ctx context.Context) error { _, err := c.Renew(ctx, g); return err },
			"Release":     func(ctx context.Context) error { return c.Release(ctx, g, 1) },
			"Init":        func(ctx context.Context) error { return extras.Init(ctx, req) },
			"Slots":       func(ctx context.Context) error { _, err := extras.Lister.Slots(ctx, "orders"); return err },
			"Incarnation": func(ctx context.Context) error { _, err := extras.Operator.Incarnation(ctx, "orders"); return err },
			"Record":      func(ctx context.Context) error { _, err := extras.Operator.Record(ctx, "orders"); return err },
			"Quarantine": func(ctx context.Context) error {
				_, err := extras.Operator.Quarantine(ctx, "orders", "test")
				return err
			},
		} {
			require.ErrorIs(t, call(context.Background()), context.DeadlineExceeded, name)
		}
	})
}
