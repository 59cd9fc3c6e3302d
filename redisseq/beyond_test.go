package redisseq_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/redistest"
	"github.com/snowlease/snowlease/lease"
)

// The pin says how many slots there are, whatever another program wrote beside it. A pin that
// another program wrote says no more than there are leases, if it says that there are many.
func TestSlotsBeyondThePool(t *testing.T) {
	t.Parallel()
	redistest.EachEngine(t, func(t *testing.T, st *redistest.Store) {
		s := &store{Store: st}
		c := opened(t, s)
		before, err := c.Extras().Lister.Slots(t.Context(), "orders")
		require.NoError(t, err)
		require.NoError(t, s.Admin.HSet(t.Context(), keys("orders")[3], "pool", lease.MaxPool).Err())
		slots, err := c.Extras().Lister.Slots(t.Context(), "orders")
		require.NoError(t, err)
		require.Len(t, slots, len(before))

		pin := s.Admin.HGet(t.Context(), keys("orders")[3], "pin").Val()
		pin = regexp.MustCompile(`pool=\d+`).ReplaceAllString(pin, "pool=1048576")
		require.NoError(t, s.Admin.HSet(t.Context(), keys("orders")[3], "pin", pin).Err())
		slots, err = c.Extras().Lister.Slots(t.Context(), "orders")
		require.NoError(t, err)
		require.Len(t, slots, 4096)
	})
}

// A worker id whose token leaves no room for another is not lent, since what a borrow would write
// could not be read.
func TestTokenAtTheTop(t *testing.T) {
	t.Parallel()
	redistest.EachEngine(t, func(t *testing.T, st *redistest.Store) {
		s := &store{Store: st}
		alone := func(r *lease.Request) { r.Last = 0 }
		c := opened(t, s)
		owners := keys("orders")[2]
		require.NoError(t, s.Admin.HSet(t.Context(), owners, "0", "0|900000000000000|0|0|").Err())
		_, err := c.Acquire(t.Context(), request(alone))
		require.ErrorIs(t, err, lease.ErrDamaged)
		require.ErrorContains(t, err, `the token of worker 0 is "900000000000000"`)
		require.Equal(t, "0|900000000000000|0|0|", s.Admin.HGet(t.Context(), owners, "0").Val(), "written to")
		require.NoError(t, s.Admin.HSet(t.Context(), owners, "0", "0|1|0|0|").Err())
		g := acquire(t, c, alone)

		// Nor does its holder get another range.
		held := s.Admin.HGet(t.Context(), owners, "0").Val()
		held = strings.Replace(held, "|"+strconv.FormatInt(g.Token, 10)+"|", "|900000000000000|", 1)
		require.NoError(t, s.Admin.HSet(t.Context(), owners, "0", held).Err())
		_, err = c.Extras().Operator.Quarantine(t.Context(), "orders", "by hand")
		require.NoError(t, err)
		_, err = c.Renew(t.Context(), g)
		require.ErrorIs(t, err, lease.ErrDamaged)
		require.Equal(t, held, s.Admin.HGet(t.Context(), owners, "0").Val(), "written to")
	})
}
