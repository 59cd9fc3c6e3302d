package redisseq

import (
	"context"
	"fmt"

	"github.com/snowlease/snowlease/lease"
)

// run runs a script and returns its reply if that is OK, else the error it stands
// for: the answers of package lease as they are, others with verb, namespace and
// server. req may have no more than a Namespace for a script without a pin.
func (c *Center) run(ctx context.Context, script script, verb string, req lease.Request, args ...any) (reply, error) {
	// Records of a pool of many thousands are made in steps: MORE. See fill in base.lua.
	const steps = lease.MaxPool/8192 + 1
	for range steps {
		out, err := within(ctx, func() (out answered, err error) {
			if keys := c.keys(req.Namespace); script.lends && c.replicas > 0 {
				out, err = c.runAndWait(ctx, script.Script, keys, args)
			} else {
				// EVALSHA, and EVAL where the server does not know the script.
				out.reply, err = script.Run(ctx, c.client, keys, args...).Result()
			}
			c.refresh(ctx, err)
			return out, err
		})
		if err != nil {
			return nil, c.wrap(verb, req.Namespace, c.translate(req.Namespace, err))
		}
		r, err := parse(out.reply)
		if err != nil {
			return nil, c.wrap(verb, req.Namespace, err)
		}
		if r[0] == "MORE" {
			continue
		}
		if answer := r.answer(req); answer != nil {
			return nil, answer
		}
		if err := r.fault(); err != nil {
			return nil, c.wrap(verb, req.Namespace, err)
		}
		if script.lends && out.replicas < int64(c.replicas) {
			return nil, c.wrap(verb, req.Namespace, fmt.Errorf("%w: %d of %d", ErrNotReplicated, out.replicas, c.replicas))
		}
		return r, nil
	}
	return nil, c.wrap(verb, req.Namespace, fmt.Errorf("%w: they get lost while they are made", ErrDamaged))
}

// within returns what call returns, or the context's error when it ends before. call
// then goes on, at most as long as the client's timeouts allow: its context has
// ended, so it is not repeated.
func within[T any](ctx context.Context, call func() (T, error)) (none T, err error) {
	if err := ctx.Err(); err != nil {
		return none, err
	}
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := call()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		if r.err != nil && ctx.Err() != nil {
			return none, fmt.Errorf("%w: %w", ctx.Err(), r.err)
		}
		return r.value, r.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}
