package redisseq_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// The memory of a pool of 1,024 lent worker ids is as documented.
func TestMemoryOfAPool(t *testing.T) {
	t.Parallel()
	for holder, limit := range map[string]int64{
		"orders@orders-6c8f9d7b5-x2x9z:1":    500_000,
		strings.Repeat("h", lease.MaxHolder): 800_000,
	} {
		s, ns := newShared(t)
		c := s.center(t)
		req := request(pool(1024), named(ns), func(r *lease.Request) { r.Holder = holder })
		require.NoError(t, c.Extras().Init(t.Context(), req))
		for range req.Pool {
			req.Owner = lease.NewOwner()
			_, err := c.Acquire(t.Context(), req)
			require.NoError(t, err)
		}
		var bytes int64
		for _, key := range keys(ns) {
			n, err := s.Admin.MemoryUsage(t.Context(), key, 0).Result()
			require.NoError(t, err)
			bytes += n
		}
		t.Logf("%d bytes, holders of %d", bytes, len(holder))
		require.Less(t, bytes, limit)
		require.Greater(t, bytes, limit/2, "the package says far too much")
	}
}
