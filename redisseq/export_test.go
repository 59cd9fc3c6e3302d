package redisseq

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Client returns the client of c, unless it is that of a cluster.
func (c *Center) Client() redis.UniversalClient {
	client, _ := c.conn.Node(context.Background(), "") // no error
	return client
}
