package redisseq_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/redisseq"
)

// A URL as an address does not show its password in names and errors.
func TestAddressShowsNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "hunter2Geheim"
	for _, addr := range []string{
		"redis://app:" + secret + "@127.0.0.1:1/0", "app:" + secret + "@127.0.0.1:1", "app:" + secret, secret + "@h", "rediss://:" + secret + "%zz@h:1", ":" + secret + "@:1",
	} {
		for _, client := range []redis.UniversalClient{
			redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1}),
			redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{addr}, MaxRedirects: -1}),
			redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m", SentinelAddrs: []string{"redis://app:" + secret + "@h:1"}, MaxRetries: -1}),
		} {
			c, err := redisseq.New(client)
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			_, err = c.Acquire(ctx, request())
			cancel()
			require.Error(t, err)
			require.NotContains(t, fmt.Sprint(err, c, c.Extras().Name, c.Extras().Warnings), secret)
			require.NoError(t, client.Close())
		}
	}
}
