// Package bounded ends calls whose callers set no deadline, and waits no longer than callers do.
package bounded

import (
	"context"
	"time"
)

// Time is how long a call without a deadline may take.
const Time = time.Minute

// Context returns ctx if it has a deadline, and otherwise a context that ends after Time.
func Context(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, Time)
}

// Start returns a context for a start that may wait. It ends after wait, and slightly before ctx,
// because fx drops start errors after the deadline.
func Start(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok {
		left := time.Until(end)
		wait = min(wait, left-min(500*time.Millisecond, left/10))
	}
	return context.WithTimeout(ctx, wait)
}

// Sleep waits for d, and returns the error of ctx if that has ended.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err()
}
