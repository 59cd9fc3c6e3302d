//go:build prove

package counter_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/counter"
	"github.com/snowlease/snowlease/internal/test/redistest"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/redisseq"
)

func TestSequenceCluster(t *testing.T) {
	t.Parallel()
	client := redistest.ClusterClient(t, testserver.NewCluster(t))
	for i := range 5 {
		s := sequence(t, client, func(c *counter.Config) { c.Namespace = fmt.Sprint("orders-", i) })
		require.Greater(t, next(t, s), int64(0))
	}
}

func TestSequenceWaitsForReplicas(t *testing.T) {
	t.Parallel()
	primary := testserver.NewRedis(t)
	replica := testserver.NewRedisReplica(t, primary)
	client := redis.NewClient(&redis.Options{Addr: primary.Addr()})
	t.Cleanup(func() { _ = client.Close() })
	for _, prefetch := range []int64{1, 64} {
		s, err := counter.New(client, sequenceConfig(quick, func(c *counter.Config) { c.Prefetch = prefetch }), redisseq.WithWaitReplicas(1, 100*time.Millisecond))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		require.NoError(t, s.Start(t.Context()))
		first := next(t, s)
		replica.Pause()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err = s.NextIDWait(ctx)
		cancel()
		require.ErrorIs(t, err, redisseq.ErrNotReplicated)
		replica.Resume()
		id, err := s.NextIDWait(t.Context())
		require.NoError(t, err)
		require.Greater(t, id, first)
	}
}
