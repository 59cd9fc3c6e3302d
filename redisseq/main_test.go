package redisseq_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// open returns a center that the test closes.
func open(t testing.TB, client redis.UniversalClient, opts ...redisseq.Option) (lease.Center, error) {
	c, err := redisseq.New(client, opts...)
	if err == nil {
		t.Cleanup(func() { _ = c.Close() })
	}
	return c, err
}
