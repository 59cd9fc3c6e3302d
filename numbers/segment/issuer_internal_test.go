package segment

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A caller who saw a used-up chunk before Close and goes on after it revives nothing.
func TestSlowCallerAfterClose(t *testing.T) {
	t.Parallel()
	i, err := Open(t.Context(), new(Memory), Config{Name: "orders", Step: 10, MaxStep: 10})
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
