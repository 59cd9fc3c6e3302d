package controls

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/lease"
)

// counter is INCR mod N on a key that expires after 7200 s; here after 240 TTLs, which
// is equal at a TTL of 30 s. Nothing is renewed or returned. The count wraps around,
// and restarts when the key expires, while older processes still run.
type counter struct {
	open
	client redis.UniversalClient
	clock  Clock
	next   *redis.Script
}

const counterTTLs = 240

func newCounter(b Backend, c Clock) lease.Center {
	return &counter{client: b.Redis, clock: c, next: redis.NewScript(`
local n = redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return n`)}
}

// Extras returns the name of the scheme.
func (c *counter) Extras() lease.Extras { return lease.Extras{Name: "INCR mod N"} }

// Acquire increments the counter.
func (c *counter) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	if err := req.Validate(); err != nil {
		return lease.Grant{}, err
	}
	n, err := c.next.Run(ctx, c.client, []string{key(req, "counter")}, (counterTTLs * req.TTL).Milliseconds()).Int64()
	if err != nil {
		return lease.Grant{}, err
	}
	return c.clock.grant(req, mod(n, req), n), nil
}

// Renew does nothing.
func (c *counter) Renew(_ context.Context, g lease.Grant) (lease.Grant, error) {
	return c.clock.again(g), nil
}

// Release does nothing.
func (c *counter) Release(context.Context, lease.Grant, int64) error { return nil }
