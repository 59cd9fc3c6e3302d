package generator

import (
	"context"
	"testing"
	"time"

	"github.com/snowlease/snowlease/snowflake"
	"github.com/stretchr/testify/require"
)

func TestStreamsCarryTheirBusinessNumber(t *testing.T) {
	b := newBench(t, serverBusiness())
	b.adopt(t, lent(1, t0, time.Minute))
	seen := map[int64]bool{}
	var prev [32]int64
	for round := range 50 {
		b.advance(time.Millisecond / 3)
		for business := range int64(32) {
			s, err := b.For(business)
			require.NoError(t, err)
			ids := make([]int64, 3)
			require.NoError(t, s.NextIDs(t.Context(), ids))
			one, err := s.NextID()
			require.NoError(t, err)
			two, err := s.NextIDWait(t.Context())
			require.NoError(t, err)
			for _, id := range append(ids, one, two) {
				p, err := b.Layout().Decode(id)
				require.NoError(t, err)
				require.Equal(t, business, p.Business, "round %d", round)
				require.Equal(t, int64(1), p.Worker)
				require.Greater(t, id, prev[business], "ids of a business number rise")
				require.False(t, seen[id&^(31<<12)], "no two agree in all but the business number")
				prev[business], seen[id&^(31<<12)] = id, true
			}
		}
	}
}

func TestStreamsRefuse(t *testing.T) {
	b := newBench(t, serverBusiness())
	for _, n := range []int64{-1, 32} {
		_, err := b.For(n)
		require.ErrorContains(t, err, "0 to 31")
	}
	s, err := b.For(31)
	require.NoError(t, err)
	id, err := s.NextID()
	require.ErrorIs(t, err, ErrNotStarted)
	require.Zero(t, id)
	id, err = s.NextIDWait(t.Context())
	require.ErrorIs(t, err, ErrNotStarted)
	require.Zero(t, id)
	ids := []int64{7}
	require.ErrorIs(t, s.NextIDs(context.Background(), ids), ErrNotStarted)
	require.Zero(t, ids[0])

	plain := newBench(t, snowflake.Layout{})
	_, err = plain.For(1)
	require.ErrorContains(t, err, "0 business bits")
	_, err = plain.For(0)
	require.NoError(t, err)
}

// The layout of a known issuer with a business number: 5 server bits, 5 business bits,
// 12 sequence bits, epoch 2019-05-05 +08:00.
func serverBusiness() snowflake.Layout {
	return snowflake.Layout{Epoch: 1556985600000, TimeUnit: time.Millisecond, TimeBits: 41, WorkerBits: 5, BusinessBits: 5, SequenceBits: 12}
}
