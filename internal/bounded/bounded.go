// Package bounded ends calls whose callers set no deadline.
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
