package sqlconn

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFileIsAMountPoint: a file that is mounted alone, as docker -v does, is told from one
// in a folder that is mounted, and refused.
func TestFileIsAMountPoint(t *testing.T) {
	t.Parallel()
	list := filepath.Join(t.TempDir(), "mountinfo")
	require.NoError(t, os.WriteFile(list, []byte(`22 1 254:0 / / rw,relatime - ext4 /dev/root rw
31 22 254:0 /srv/shop.db /app/shop.db rw,relatime - ext4 /dev/root rw
32 22 254:0 /srv/my\040shop.db /app/my\040shop.db rw,relatime - ext4 /dev/root rw
33 22 254:0 /srv /data rw,relatime - ext4 /dev/root rw
`), 0o600))
	for file, want := range map[string]bool{"/app/shop.db": true, "/app/my shop.db": true, "/data/shop.db": false, "/app/shop.db-wal": false, "": false} {
		require.Equal(t, want, mounted(file, list), file)
	}
	require.False(t, mounted("/app/shop.db", list+".missing"))

	file := filepath.Join(t.TempDir(), "shop.db")
	c, err := Open(ofDbseq, "sqlite", "file:"+file+"?_pragma=journal_mode(WAL)")
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.oneFile(t.Context(), list))
	require.NoError(t, os.WriteFile(list, []byte("31 22 254:0 /srv/shop.db "+file+" rw,relatime - ext4 /dev/root rw\n"), 0o600))
	require.ErrorContains(t, c.oneFile(t.Context(), list), "is a mount point of its own: mount its folder")
}
