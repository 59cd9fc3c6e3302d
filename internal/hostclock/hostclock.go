// Package hostclock returns the time of this host. Simulations replace it.
package hostclock

import (
	"context"
	"time"
)

type key struct{}

// With returns a context in which Now calls now.
func With(ctx context.Context, now func() time.Time) context.Context {
	return context.WithValue(ctx, key{}, now)
}

// Now returns the time of this host.
func Now(ctx context.Context) time.Time {
	if now, ok := ctx.Value(key{}).(func() time.Time); ok {
		return now()
	}
	return time.Now()
}
