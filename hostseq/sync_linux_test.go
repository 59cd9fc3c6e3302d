package hostseq

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRecordIsSynced: a record that cannot be brought to the disk is an error. Linux takes
// writes to /dev/null and refuses to sync it.
func TestRecordIsSynced(t *testing.T) {
	t.Parallel()
	f, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	require.ErrorIs(t, write(f, record{Worker: 3}), syscall.EINVAL)
}
