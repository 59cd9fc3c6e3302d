package idworker_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/snowflake"
)

// A worker and its Streams count their batches together. Batches without ids do not count.
func TestBatches(t *testing.T) {
	t.Parallel()
	layout := snowflake.Layout{WorkerBits: 5, SequenceBits: 12, BusinessBits: 2}
	w, err := idworker.Fixed(layout, 1)
	require.NoError(t, err)
	other, err := w.For(3)
	require.NoError(t, err)
	for n, by := range map[int]*idworker.Stream{0: &w.Stream, 1: &w.Stream, 10: other, 11: &w.Stream, 100: &w.Stream, 101: other, 1000: &w.Stream, 1001: &w.Stream} {
		require.NoError(t, by.NextIDs(t.Context(), make([]int64, n)))
	}
	_, err = w.NextIDWait(t.Context())
	require.NoError(t, err)
	want := idworker.Batches{UpTo10: 2, UpTo100: 2, UpTo1000: 2, More: 1}
	require.Equal(t, want, w.Status().Batches)
	require.NoError(t, w.Stop(t.Context()))
	require.ErrorIs(t, w.NextIDs(t.Context(), make([]int64, 5)), idworker.ErrStopped)
	require.Equal(t, want, w.Status().Batches)
}
