package redisseq_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq/internal/redistest"
)

// The pin says how many slots there are, whatever another program wrote beside it. A pin that
// another program wrote says no more than there are leases, if it says that there are many.
func TestSlotsBeyondThePool(t *testing.T) {
	t.Parallel()
	redistest.EachEngine(t, func(t *testing.T, st *redistest.Store) {
		s := &store{Store: st}
		c := opened(t, s)
		before, err := c.Slots(t.Context(), "orders")
		require.NoError(t, err)
		require.NoError(t, s.Admin.HSet(t.Context(), keys("orders")[3], "pool", lease.MaxPool).Err())
		slots, err := c.Slots(t.Context(), "orders")
		require.NoError(t, err)
		require.Len(t, slots, len(before))

		pin := s.Admin.HGet(t.Context(), keys("orders")[3], "pin").Val()
		pin = regexp.MustCompile(`pool=\d+`).ReplaceAllString(pin, "pool=1048576")
		require.NoError(t, s.Admin.HSet(t.Context(), keys("orders")[3], "pin", pin).Err())
		slots, err = c.Slots(t.Context(), "orders")
		require.NoError(t, err)
		require.Len(t, slots, 4096)
	})
}
