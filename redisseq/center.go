package redisseq

import (
	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/internal/engine"
	"github.com/snowlease/snowlease/internal/redisconn"
	"github.com/snowlease/snowlease/lease"
)

// A Center lends worker ids from Redis. It is safe for concurrent use. It keeps no
// state and no goroutines between calls. One Center serves any number of namespaces.
//
// Each method returns when its context ends, even if go-redis does not, which never obeys a
// cancellation while it waits for a reply. The call then ends within the client's timeouts. Its
// outcome is dropped, as if the reply had been lost.
type Center struct {
	*engine.Center
	conn *redisconn.Conn
}

var _ lease.Center = (*Center)(nil)

// New returns a center with a client of its own, which has the options of client but for its Limiter
// and cache, no hooks, and at most two connections, to each node of a cluster. So renewals do not
// wait while the application keeps all connections of client busy. The caller closes the center,
// then client. Another redis.UniversalClient than a *redis.Client or *redis.ClusterClient, and one of
// NewFailoverClusterClient, is shared, with a warning. New does not connect.
//
// New returns ErrClient for nil and for a *redis.Ring, which could break uniqueness. It also fails if
// an option is invalid or does not suit the client.
func New(client redis.UniversalClient, opts ...Option) (*Center, error) {
	c, err := redisconn.New(client, opts...)
	if err != nil {
		return nil, err
	}
	return &Center{engine.New(store{c}, lease.MaxPool), c}, nil
}

// Extras returns the name of the server without user and password, such as
// "redis 127.0.0.1:6379 db 0", what New could not check about the client as Warnings, the
// lease.Lister, the lease.Operator, Init, Examine and Close. Examine needs the members'
// WithQuarantine and WithWaitReplicas.
func (c *Center) Extras() lease.Extras {
	x := c.Center.Extras()
	x.Warnings, x.Examine, x.Close = c.conn.Warnings(), c.examine, c.Close
	return x
}

// Close closes the center's own client, until the next call. It releases no worker id.
func (c *Center) Close() error { return c.conn.Close() }
