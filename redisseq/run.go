package redisseq

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/idworker/lease"
)

// run runs a script and returns its reply if that is OK, else the error it stands
// for: the answers of package lease as they are, others with verb, namespace and
// server. req may have no more than a Namespace for a script without a pin.
func (c *Center) run(ctx context.Context, script *redis.Script, verb string, req lease.Request, args ...any) (reply, error) {
	// Records of a pool of many thousands are made in steps: MORE.
	for range 1000 {
		value, err := within(ctx, func() (any, error) {
			// EVALSHA, and EVAL where the server does not know the script.
			return script.Run(ctx, c.client, c.keys(req.Namespace), args...).Result()
		})
		if err != nil {
			return nil, c.wrap(verb, req.Namespace, c.translate(req.Namespace, err))
		}
		r, err := parse(value)
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
		return r, nil
	}
	return nil, c.wrap(verb, req.Namespace, fmt.Errorf("%w: they get lost while they are made", ErrDamaged))
}

// within returns what call returns, or the context's error when it ends before. call
// then goes on, at most as long as the client's timeouts allow: its context has
// ended, so it is not repeated.
func within(ctx context.Context, call func() (any, error)) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	type result struct {
		value any
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
			return nil, fmt.Errorf("%w: %w", ctx.Err(), r.err)
		}
		return r.value, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
