package redisseq_test

import (
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/redisseq"
)

func TestServerThatDoesNotTellItsRunID(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()}) // it knows no INFO server
	t.Cleanup(func() { _ = client.Close() })
	c, err := redisseq.New(client)
	require.NoError(t, err)
	_, err = c.Acquire(t.Context(), request())
	require.ErrorIs(t, err, redisseq.ErrRunID)
	require.ErrorIs(t, c.Init(t.Context(), request()), redisseq.ErrRunID)
	require.Zero(t, client.DBSize(t.Context()).Val(), "nothing was written")
}
