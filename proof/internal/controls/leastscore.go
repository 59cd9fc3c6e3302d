package controls

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/lease"
)

// leastScore keeps all worker ids in a sorted set, scored by the time of their last
// use by their user's clock. A start takes the least score, whether or not it lies in
// the past, so one process too many takes the id of a live one. A refresh sets the
// score of the id, whoever holds it.
type leastScore struct {
	open
	client redis.UniversalClient
	clock  Clock
	take   *redis.Script
}

func newLeastScore(b Backend, c Clock) lease.Center {
	return &leastScore{client: b.Redis, clock: c, take: redis.NewScript(`
if redis.call('EXISTS', KEYS[1]) == 0 then
  for worker = tonumber(ARGV[2]), tonumber(ARGV[3]) do redis.call('ZADD', KEYS[1], 0, worker) end
end
local worker = redis.call('ZRANGE', KEYS[1], 0, 0)[1]
redis.call('ZADD', KEYS[1], ARGV[1], worker)
return tonumber(worker)`)}
}

// Extras returns the name of the scheme.
func (c *leastScore) Extras() lease.Extras { return lease.Extras{Name: "least score"} }

// Acquire takes the worker id that was used least recently.
func (c *leastScore) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	if err := req.Validate(); err != nil {
		return lease.Grant{}, err
	}
	now := c.clock.now()
	worker, err := c.take.Run(ctx, c.client, []string{key(req, "score")}, now, req.First, req.Last).Int64()
	if err != nil {
		return lease.Grant{}, err
	}
	return c.clock.grant(req, worker, now), nil
}

// Renew sets the score to now.
func (c *leastScore) Renew(ctx context.Context, g lease.Grant) (lease.Grant, error) {
	if err := c.score(ctx, g, 0); err != nil {
		return lease.Grant{}, err // retried, as in the original; ids continue
	}
	return c.clock.again(g), nil
}

// Release sets the score back by 1.5 refreshes (three refreshes per TTL): before all
// live ids, after those long dead.
func (c *leastScore) Release(ctx context.Context, g lease.Grant, _ int64) error {
	return c.score(ctx, g, g.TTL/2)
}

func (c *leastScore) score(ctx context.Context, g lease.Grant, ago time.Duration) error {
	score := float64(c.clock.now() - ago.Milliseconds())
	return c.client.ZAdd(ctx, key(g.Request, "score"), redis.Z{Score: score, Member: g.Worker}).Err()
}
