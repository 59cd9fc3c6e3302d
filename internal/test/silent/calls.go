// Package silent calls centers whose stores never answer.
package silent

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// Calls requires, in a bubble of synctest, that each call to such a center ends.
func Calls(t *testing.T, c interface {
	lease.Center
	Extras() lease.Extras
}, req lease.Request,
) {
	g := lease.Grant{Request: req, Token: 1, Now: 1, Floor: 1, Ceiling: 2}
	x, ns := c.Extras(), req.Namespace
	for name, call := range map[string]func(context.Context) error{
		"Acquire":     func(ctx context.Context) error { _, err := c.Acquire(ctx, req); return err },
		"Renew":       func(ctx context.Context) error { _, err := c.Renew(ctx, g); return err },
		"Release":     func(ctx context.Context) error { return c.Release(ctx, g, 1) },
		"Init":        func(ctx context.Context) error { return x.Init(ctx, req) },
		"Slots":       func(ctx context.Context) error { _, err := x.Lister.Slots(ctx, ns); return err },
		"Incarnation": func(ctx context.Context) error { _, err := x.Operator.Incarnation(ctx, ns); return err },
		"Record":      func(ctx context.Context) error { _, err := x.Operator.Record(ctx, ns); return err },
		"Quarantine":  func(ctx context.Context) error { _, err := x.Operator.Quarantine(ctx, ns, "test"); return err },
		"Revoke":      func(ctx context.Context) error { return x.Operator.Revoke(ctx, ns, 0, 1) },
		"Retire":      func(ctx context.Context) error { return x.Operator.Retire(ctx, ns, "test") },
	} {
		require.ErrorAs(t, call(context.Background()), new(net.Error), name)
	}
	if x.Examine != nil {
		_, err := x.Examine(context.Background(), ns)
		require.NoError(t, err, "its findings tell")
	}
}
