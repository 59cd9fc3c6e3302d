package redisseq_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/idworker/lease"
	"github.com/snowlease/snowlease/redisseq"
)

// The rights that docs/engines.md names are enough.
func TestUserWithTheRightsOfTheDocs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/engines.md")
	require.NoError(t, err)
	line := regexp.MustCompile(`(?m)^ACL SETUSER orders .*$`).FindString(string(text))
	require.NotEmpty(t, line)
	s := newReal(t)
	var args []any
	for _, word := range strings.Fields(line) {
		args = append(args, word)
	}
	require.NoError(t, s.admin.Do(t.Context(), args...).Err())
	client := redis.NewClient(&redis.Options{Addr: s.addr, Username: "orders", Password: "secret"})
	t.Cleanup(func() { _ = client.Close() })
	c, err := redisseq.New(client)
	require.NoError(t, err)
	require.NoError(t, c.Init(t.Context(), request()))
	g := renew(t, c, acquire(t, c))
	_, err = c.Slots(t.Context(), g.Namespace)
	require.NoError(t, err)
	require.NoError(t, c.Release(t.Context(), g, g.Now))
	require.NoError(t, client.Ping(t.Context()).Err())
}

// What a pool of 1,024 worker ids takes that are all lent, as the package says.
func TestMemoryOfAPool(t *testing.T) {
	t.Parallel()
	for holder, limit := range map[string]int64{
		"orders@orders-6c8f9d7b5-x2x9z:1":    500_000,
		strings.Repeat("h", lease.MaxHolder): 800_000,
	} {
		s := newReal(t)
		c := s.center(t)
		req := request(pool(1024), func(r *lease.Request) { r.Holder = holder })
		require.NoError(t, c.Init(t.Context(), req))
		for range req.Pool {
			req.Owner = lease.NewOwner()
			_, err := c.Acquire(t.Context(), req)
			require.NoError(t, err)
		}
		var bytes int64
		for _, key := range s.admin.Keys(t.Context(), "*").Val() {
			n, err := s.admin.MemoryUsage(t.Context(), key, 0).Result()
			require.NoError(t, err)
			bytes += n
		}
		t.Logf("%d bytes, holders of %d", bytes, len(holder))
		require.Less(t, bytes, limit)
		require.Greater(t, bytes, limit/2, "the package says far too much")
	}
}
