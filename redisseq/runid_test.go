package redisseq_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/redistest"
	"github.com/snowlease/snowlease/redisseq"
)

func TestServerThatDoesNotTellItsRunID(t *testing.T) {
	t.Parallel()
	redistest.EachSilent(t, func(t *testing.T, client *redis.Client) {
		c, err := redisseq.New(client)
		require.NoError(t, err)
		_, err = c.Acquire(t.Context(), request())
		require.ErrorIs(t, err, redisseq.ErrRunID)
		require.ErrorIs(t, c.Extras().Init(t.Context(), request()), redisseq.ErrRunID)
	})
}
