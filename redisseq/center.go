package redisseq

import (
	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/internal/engine"
	"github.com/snowlease/snowlease/internal/option"
	"github.com/snowlease/snowlease/internal/redisconn"
	"github.com/snowlease/snowlease/lease"
)

// center leases worker ids from Redis.
type center struct {
	*engine.Center
	conn *redisconn.Conn
}

// New returns a center with its own client. That client has the options of the given client
// except Limiter and cache, no hooks, and at most two connections (to each node of a cluster). So
// renewals do not wait while the application keeps all connections of client busy. The caller
// closes the center, which closes that client, and then client. A client that is neither a
// *redis.Client nor a *redis.ClusterClient, or is the result of NewFailoverClusterClient, is
// shared, with a warning. New does not connect.
//
// The center keeps no state between calls and serves any number of namespaces. Its lease.Extras
// have a Lister, an Operator, Init and Examine. Their Name is the server without user and
// password, such as "redis 127.0.0.1:6379 db 0", with the prefix of the keys if it is not the
// default, and their Warnings concern properties of the client that New could not check. Examine
// needs the same WithDurable and WithWaitReplicas as the members.
//
// New returns ErrClient for nil and for a *redis.Ring, which could break uniqueness. It also
// fails if an option is invalid or does not suit the client.
func New(client redis.UniversalClient, opts ...Option) (lease.Center, error) {
	c, err := redisconn.New(client, option.All[redisconn.Conn](opts))
	if err != nil {
		return nil, err
	}
	return center{engine.New(store{c}, lease.MaxPool), c}, nil
}

func (c center) Extras() lease.Extras {
	x := c.Center.Extras()
	x.Warnings, x.Examine = c.conn.Warnings(), c.examine
	return x
}

// Close closes the center's own client. The next call opens it again.
func (c center) Close() error { return c.conn.Close() }
