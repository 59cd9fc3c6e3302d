package main

import (
	"context"

	"go.uber.org/fx"
)

// within ends the start hooks when starting ends, by Ctrl-C or its deadline, and lets
// the roll back run. fx by itself stops nothing of what has started when the context
// of a start ends, so a worker id would be kept until its lease expires.
func within(starting context.Context) func(fx.Lifecycle) fx.Lifecycle {
	return func(lc fx.Lifecycle) fx.Lifecycle {
		return lifecycle(func(h fx.Hook) {
			if start := h.OnStart; start != nil {
				h.OnStart = func(ctx context.Context) error {
					if starting.Err() != nil {
						return context.Cause(starting)
					}
					if end, ok := starting.Deadline(); ok { // for hooks that look at it
						var cancel context.CancelFunc
						ctx, cancel = context.WithDeadline(ctx, end)
						defer cancel()
					}
					ctx, cancel := context.WithCancelCause(ctx)
					defer cancel(nil)
					defer context.AfterFunc(starting, func() { cancel(context.Cause(starting)) })()
					return start(ctx)
				}
			}
			lc.Append(h)
		})
	}
}

// A lifecycle is an fx.Lifecycle in one function.
type lifecycle func(fx.Hook)

func (l lifecycle) Append(h fx.Hook) { l(h) }
