// Package bounded ends calls to which their callers gave no deadline.
package bounded

import (
	"context"
	"time"
)

// Time is how long a call may take whose context has no deadline.
const Time = time.Minute

// Context returns ctx if it has a deadline, and otherwise one that ends after Time.
func Context(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, Time)
}
