package segment

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A caller who saw a used-up chunk before Close and goes on after it revives nothing.
func TestSlowCallerAfterClose(t *testing.T) {
	t.Parallel()
	i, err := Open(t.Context(), NewMemory(), Config{Name: "orders", Step: 10, MaxStep: 10})
	require.NoError(t, err)
	used := i.cur.Load()
	require.NoError(t, i.NextIDs(t.Context(), make([]int64, 11)))
	require.NotNil(t, used.next.Load())
	require.NoError(t, i.Close())
	require.True(t, i.move(used))
	_, err = i.NextID()
	require.ErrorIs(t, err, ErrClosed)
	require.GreaterOrEqual(t, i.Status().Issued, int64(11))
}

// A batch that begins while Reset runs takes nothing of what that discards.
func TestBatchDuringReset(t *testing.T) {
	t.Parallel()
	i, err := Open(t.Context(), NewMemory(), Config{Name: "orders", Step: 10, MinStep: 10, MaxStep: 10})
	require.NoError(t, err)
	defer i.Close()
	i.mu.Lock()
	i.copies.Add(1)
	ids, done := make([]int64, 2), make(chan error, 1)
	go func() { done <- i.NextIDs(t.Context(), ids) }()
	select {
	case err := <-done:
		t.Error("it has ended before Reset", err)
	case <-time.After(20 * time.Millisecond):
	}
	for c := i.cur.Load(); c != nil; c = c.next.Load() {
		c.drop()
	}
	i.copies.Add(1)
	i.mu.Unlock()
	require.NoError(t, <-done)
	require.Greater(t, ids[0], int64(10))
}
