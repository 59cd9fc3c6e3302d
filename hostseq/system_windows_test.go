package hostseq

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// The file of a worker id that is held can be read, and its holder notices that it was
// replaced.
func TestFileOfAHolder(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.center(byHand(2))
	g, err := c.Renew(t.Context(), s.acquire(c))
	require.NoError(t, err)
	path := slots(s.dir).path("orders", 2)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	r, err := decode(b, 2)
	require.NoError(t, err)
	require.Equal(t, g.Ceiling, r.Mark)
	require.NoError(t, os.Rename(path, path+".old"))
	require.NoError(t, slots(s.dir).create(path, record{Worker: 2}.encode()))
	_, err = c.Renew(t.Context(), g)
	require.ErrorIs(t, err, lease.ErrLost)
}

// Closing a file gives its lock back; another handle of the process does not share it.
func TestLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, make([]byte, recordSize), 0o600))
	first, err := openNoFollow(path, os.O_RDWR)
	require.NoError(t, err)
	second, err := openNoFollow(path, os.O_RDWR)
	require.NoError(t, err)
	defer second.Close()
	for _, c := range []struct {
		f    *os.File
		free bool
	}{{first, true}, {second, false}, {first, false}} {
		free, err := flock(c.f)
		require.NoError(t, err)
		require.Equal(t, c.free, free)
	}
	require.NoError(t, write(second, sample), "the lock does not cover the record")
	require.NoError(t, first.Close())
	free, err := flock(second)
	require.NoError(t, err)
	require.True(t, free)
	_, err = flock(first)
	require.Error(t, err)
}
