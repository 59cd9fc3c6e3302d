package idworker_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/snowflake"
)

// TestBatches: a worker and those for its business numbers count their batches together,
// and count none that got no ids.
func TestBatches(t *testing.T) {
	t.Parallel()
	layout := snowflake.Layout{WorkerBits: 5, SequenceBits: 12, BusinessBits: 2}
	w, err := idworker.Fixed(layout, 1)
	require.NoError(t, err)
	other, err := w.For(3)
	require.NoError(t, err)
	for n, by := range map[int]*idworker.IdWorker{0: w, 1: w, 10: other, 11: w, 100: w, 101: other, 1000: w, 1001: w} {
		require.NoError(t, by.NextIDs(t.Context(), make([]int64, n)))
	}
	_, err = w.NextIDWait(t.Context())
	require.NoError(t, err)
	want := idworker.Batches{UpTo10: 2, UpTo100: 2, UpTo1000: 2, More: 1}
	require.Equal(t, want, w.Status().Batches)
	require.NoError(t, w.Close(t.Context()))
	require.ErrorIs(t, w.NextIDs(t.Context(), make([]int64, 5)), idworker.ErrStopped)
	require.Equal(t, want, other.Status().Batches)
}
