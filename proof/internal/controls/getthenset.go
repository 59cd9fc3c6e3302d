package controls

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/lease"
)

// getThenSet increments a counter until GET finds no key for the worker id, then SETs
// the key with an expiry. The value is a constant, so nobody can tell whose key it is.
// The refresh is a plain EXPIRE whose reply is ignored, and the return is a plain DEL.
// If the counter cannot be reached, the worker id is 0.
//
// It differs from the original in two ways. The count wraps by its remainder instead of a
// reset, which has a race of its own. A search ends after one round instead of twenty.
type getThenSet struct {
	open
	client redis.UniversalClient
	clock  Clock
}

func newGetThenSet(b Backend, c Clock) lease.Center { return &getThenSet{client: b.Redis, clock: c} }

// Extras returns the name of the scheme.
func (c *getThenSet) Extras() lease.Extras { return lease.Extras{Name: "GET then SET"} }

// Acquire looks for a worker id without a key.
func (c *getThenSet) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	if err := req.Validate(); err != nil {
		return lease.Grant{}, err
	}
	for range req.Last - req.First + 1 {
		n, err := c.client.Incr(ctx, key(req, "index")).Result()
		if err != nil {
			return c.clock.grant(req, 0, 0), nil // as the original does
		}
		worker := mod(n-1, req)
		switch err := c.client.Get(ctx, valueKey(req, worker)).Err(); {
		case err == nil:
			continue
		case !errors.Is(err, redis.Nil):
			return lease.Grant{}, err
		}
		if err := c.client.Set(ctx, valueKey(req, worker), "Y", req.TTL).Err(); err != nil {
			return lease.Grant{}, err
		}
		return c.clock.grant(req, worker, n), nil
	}
	return lease.Grant{}, errFull
}

// Renew sets the expiry of the key, if there is one.
func (c *getThenSet) Renew(ctx context.Context, g lease.Grant) (lease.Grant, error) {
	_ = c.client.PExpire(ctx, valueKey(g.Request, g.Worker), g.TTL).Err()
	return c.clock.again(g), nil
}

// Release deletes the key.
func (c *getThenSet) Release(ctx context.Context, g lease.Grant, _ int64) error {
	return c.client.Del(ctx, valueKey(g.Request, g.Worker)).Err()
}

func valueKey(req lease.Request, worker int64) string {
	return key(req, fmt.Sprintf("value:%d", worker))
}
