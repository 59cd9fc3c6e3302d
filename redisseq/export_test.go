package redisseq

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/lease"
)

// Client returns the client of c, unless it is that of a cluster.
func Client(c lease.Center) redis.UniversalClient {
	client, _ := c.(center).conn.Node(context.Background(), "") // no error
	return client
}
