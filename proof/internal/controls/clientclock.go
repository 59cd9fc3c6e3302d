package controls

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/lease"
)

// clientClock stores the time of each worker id's last heartbeat, by the clock of the
// process that sent it. A start takes the first of these that exists:
//   - the id that it already has
//   - an id that was given back
//   - an id that was never used
//   - an id whose heartbeat is older than the guard (5 min; here a TTL) by the
//     starter's clock
//
// A start waits if its clock is behind the last heartbeat of the id. A heartbeat
// checks the owner. If it finds another owner, it logs that, and ids continue.
//
// The process is named by the random owner of the request. That is kinder than the
// original address and pid, which two containers can share.
type clientClock struct {
	open
	client              redis.UniversalClient
	clock               Clock
	take, guard, revert *redis.Script
}

func newClientClock(b Backend, c Clock) lease.Center {
	const keys = `local owners, stamps, names, free, count = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local name, now = ARGV[1], ARGV[2]
`
	return &clientClock{
		client: b.Redis, clock: c,
		take: redis.NewScript(keys + `
local first, pool, guard = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local worker = redis.call('HGET', names, name)
if not worker then
  worker = redis.call('ZRANGE', free, 0, 0)[1]
end
if not worker and tonumber(redis.call('GET', count) or '0') < pool then
  worker = string.format('%d', first + redis.call('INCR', count) - 1)
end
if not worker then
  local oldest = redis.call('ZRANGE', stamps, 0, 0, 'WITHSCORES')
  if oldest[1] and tonumber(oldest[2]) <= tonumber(now) - guard then worker = oldest[1] end
end
if not worker then return { -1, 0 } end
local last = tonumber(redis.call('ZSCORE', stamps, worker) or redis.call('ZSCORE', free, worker) or '0')
local former = redis.call('HGET', owners, worker)
if former then redis.call('HDEL', names, former) end
redis.call('ZREM', free, worker)
redis.call('ZADD', stamps, string.format('%.0f', math.max(last, tonumber(now))), worker)
redis.call('HSET', owners, worker, name)
redis.call('HSET', names, name, worker)
return { tonumber(worker), string.format('%.0f', last) }`),
		guard: redis.NewScript(keys + `
local worker = ARGV[3]
if redis.call('HGET', owners, worker) ~= name then return 0 end
local last = tonumber(redis.call('ZSCORE', stamps, worker) or '0')
redis.call('ZADD', stamps, string.format('%.0f', math.max(last, tonumber(now))), worker)
return 1`),
		revert: redis.NewScript(keys + `
local worker = ARGV[3]
if redis.call('HGET', owners, worker) ~= name then return 0 end
redis.call('HDEL', names, name)
redis.call('HDEL', owners, worker)
redis.call('ZREM', stamps, worker)
redis.call('ZADD', free, now, worker)
return 1`),
	}
}

// Extras returns the name of the scheme.
func (c *clientClock) Extras() lease.Extras {
	return lease.Extras{Name: "lease by the clients' clocks"}
}

// Acquire takes a worker id that is free by this process's clock.
func (c *clientClock) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	if err := req.Validate(); err != nil {
		return lease.Grant{}, err
	}
	now := c.clock.now()
	reply, err := c.run(ctx, c.take, req, now, req.First, req.Last-req.First+1, req.TTL.Milliseconds()).Int64Slice()
	if err != nil {
		return lease.Grant{}, err
	}
	worker, last := reply[0], reply[1]
	if worker < 0 {
		return lease.Grant{}, errFull
	}
	if last > now {
		return lease.Grant{}, fmt.Errorf("controls: the last heartbeat of worker %d lies %d ms ahead of this clock: wait", worker, last-now)
	}
	return c.clock.grant(req, worker, now), nil
}

// Renew sends a heartbeat.
func (c *clientClock) Renew(ctx context.Context, g lease.Grant) (lease.Grant, error) {
	// The reply 0 says that another process has the worker id. The scheme only logs it.
	if err := c.run(ctx, c.guard, g.Request, c.clock.now(), g.Worker).Err(); err != nil {
		return lease.Grant{}, err
	}
	return c.clock.again(g), nil
}

// Release gives the worker id back.
func (c *clientClock) Release(ctx context.Context, g lease.Grant, _ int64) error {
	return c.run(ctx, c.revert, g.Request, c.clock.now(), g.Worker).Err()
}

func (c *clientClock) run(ctx context.Context, s *redis.Script, req lease.Request, args ...any) *redis.Cmd {
	keys := []string{key(req, "owners"), key(req, "stamps"), key(req, "names"), key(req, "free"), key(req, "count")}
	return s.Run(ctx, c.client, keys, append([]any{hex.EncodeToString(req.Owner[:])}, args...)...)
}
