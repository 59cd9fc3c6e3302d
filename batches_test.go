package snowlease_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/snowflake"
)

// A worker and its Streams count their batches together. Batches without ids do not count.
func TestBatches(t *testing.T) {
	t.Parallel()
	layout := snowflake.Layout{WorkerBits: 5, SequenceBits: 12, BusinessBits: 2}
	w, err := snowlease.Fixed(1, snowlease.Config{Layout: layout})
	require.NoError(t, err)
	other, err := w.For(3)
	require.NoError(t, err)
	for n, by := range map[int]snowflake.Source{0: w, 1: w, 10: other, 11: w, 100: w, 101: other, 1000: w, 1001: w} {
		require.NoError(t, by.NextIDs(t.Context(), make([]int64, n)))
	}
	_, err = w.NextIDWait(t.Context())
	require.NoError(t, err)
	want := snowlease.Batches{UpTo10: 2, UpTo100: 2, UpTo1000: 2, More: 1}
	require.Equal(t, want, w.Status().Batches)
	require.NoError(t, w.Close())
	require.ErrorIs(t, w.NextIDs(t.Context(), make([]int64, 5)), snowlease.ErrClosed)
	require.Equal(t, want, w.Status().Batches)
}
