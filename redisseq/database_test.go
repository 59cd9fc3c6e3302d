package redisseq_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq"
)

// TestApplicationSelectsADatabase: a connection on which the application has chosen another
// database shows no second, empty namespace, and stays where the application put it.
func TestApplicationSelectsADatabase(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *store) {
		for _, db := range []int{0, 3} {
			client := redis.NewClient(&redis.Options{Addr: s.Addr, DB: db, PoolSize: 1})
			t.Cleanup(func() { _ = client.Close() })
			c, err := redisseq.New(client)
			require.NoError(t, err)
			require.NoError(t, c.Extras().Init(t.Context(), request(pool(1))))
			g := acquire(t, c, pool(1))

			require.NoError(t, client.Do(t.Context(), "SELECT", 5).Err())
			_, err = c.Acquire(t.Context(), request(pool(1)))
			require.ErrorAs(t, err, new(*lease.NoFreeWorkerError))
			_, err = c.Renew(t.Context(), g)
			require.NoError(t, err)
			slots, err := c.Extras().Lister.Slots(t.Context(), g.Namespace)
			require.NoError(t, err)
			require.Len(t, slots, 1)
			require.NoError(t, c.Release(t.Context(), g, g.Floor))
			require.Zero(t, client.DBSize(t.Context()).Val(), "the application is still in its database, which is empty")
		}
	})
}
