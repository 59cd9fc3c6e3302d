package snowlease_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/snowflake"
)

func TestFixed(t *testing.T) {
	w, err := snowlease.Fixed(3, snowlease.Config{})
	require.NoError(t, err)
	ids := make([]int64, 1000)
	require.NoError(t, w.NextIDs(t.Context(), ids))
	one, err := w.NextIDWait(t.Context())
	require.NoError(t, err)
	require.Greater(t, one, ids[999])
	require.Zero(t, testing.AllocsPerRun(1000, func() { _, _ = w.NextID() }))
	require.Equal(t, "worker 3 of local, ready", w.String())
	require.Equal(t, "worker 3 of local, ready", w.Status().String())
	p, err := w.Decode(one)
	require.NoError(t, err)
	require.Equal(t, int64(3), p.Worker)
	back, err := w.Encode(p)
	require.NoError(t, err)
	require.Equal(t, one, back)
	require.Equal(t, int64(3), w.Status().Worker)
	require.ErrorContains(t, w.Reset(t.Context()), "a copied process")
	require.NoError(t, w.Close())
	require.NoError(t, w.Close())
	require.ErrorIs(t, w.Healthy(), snowlease.ErrClosed)
	require.NoError(t, w.Start(t.Context()))
	again, err := w.NextID()
	require.NoError(t, err)
	require.Greater(t, again, one)
	require.NoError(t, w.Close())
	require.Nil(t, w.Center())
	_, err = w.Slots(t.Context())
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

// A layout of long ticks has no lease that it could be too long for.
func TestFixedOfLongTicks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, err := snowlease.Fixed(3, snowlease.Config{Layout: snowflake.Layout{TimeUnit: time.Hour}})
		require.NoError(t, err)
		_, err = w.NextID()
		require.NoError(t, err)
		require.ErrorContains(t, w.Close(), "start no worker with this worker id before")
	})
}

func TestFixedRefuses(t *testing.T) {
	for _, l := range []snowflake.Layout{{Epoch: -2}, {WorkerBits: 60}} {
		_, err := snowlease.Fixed(3, snowlease.Config{Layout: l})
		require.ErrorContains(t, err, "snowlease: config: Layout: snowflake: layout: ")
	}
	for _, worker := range []int64{-1, 32} {
		_, err := snowlease.Fixed(worker, snowlease.Config{})
		require.EqualError(t, err, fmt.Sprintf("snowlease: snowflake: worker id %d is not 0 to 31", worker))
	}
}

// The guide says how a bubble gets a Fixed worker.
func TestFixedInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := snowlease.Fixed(1, snowlease.Config{})
		require.ErrorContains(t, err, "lies after now (2000-01-01T00:00:00Z)")
		time.Sleep(time.Until(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)))
		w, err := snowlease.Fixed(1, snowlease.Config{})
		require.NoError(t, err)
		ids := make([]int64, 1<<17) // as many as a tick holds, since the first one is random
		require.NoError(t, w.NextIDs(t.Context(), ids))

		// In one process too, only workers with different worker ids are unique.
		for worker, repeats := range map[int64]bool{1: true, 2: false} {
			another, err := snowlease.Fixed(worker, snowlease.Config{})
			require.NoError(t, err)
			again := make([]int64, len(ids))
			require.NoError(t, another.NextIDs(t.Context(), again))
			seen := map[int64]bool{}
			for _, id := range ids {
				seen[id] = true
			}
			require.Equal(t, repeats, slices.ContainsFunc(again, func(id int64) bool { return seen[id] }))
		}
	})
}

// TestRestartAfterABurst: the next worker with a worker id set by hand repeats no id, although those
// of the former one ran ahead of the clock. TestStatelessAfterABurst of package hostseq shows it of
// a center.
func TestRestartAfterABurst(t *testing.T) {
	const starts, each = 3, 2_000 // 2,000 ids of jssafe are 32 ms
	bubble(t, func(t *testing.T) {
		seen := map[int64]bool{}
		for range starts {
			w, err := snowlease.Fixed(1, snowlease.Config{Layout: snowflake.JSSafe()})
			require.NoError(t, err)
			ids := make([]int64, each)
			require.NoError(t, w.NextIDs(t.Context(), ids))
			require.NoError(t, w.Close())
			for _, id := range ids {
				seen[id] = true
			}
		}
		require.Len(t, seen, starts*each)
	})
}
