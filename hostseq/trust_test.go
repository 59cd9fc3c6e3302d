//go:build unix

package hostseq

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Whatever somebody has put where a file belongs is neither followed nor waited
// for, and its content is not shown.
func TestWhatIsNoFileOfOurs(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("hunter2Geheim"), 0o600))
	puts := map[string]struct {
		put  func(path string) error
		want string
	}{
		"a link":               {func(path string) error { return os.Symlink(secret, path) }, "too many levels of symbolic links"},
		"a named pipe":         {func(path string) error { return syscall.Mkfifo(path, 0o600) }, "is not a regular file"},
		"a directory":          {func(path string) error { return os.Mkdir(path, 0o700) }, "director"},
		"a device":             {func(path string) error { return os.Symlink("/dev/zero", path) }, "too many levels of symbolic links"},
		"everyone's file":      {func(path string) error { return writable(path, 0o666) }, "everyone can write to it"},
		"a file of everything": {func(path string) error { return os.Truncate(path, 1<<40) }, ""},
	}
	for name, c := range puts {
		for _, file := range []string{"orders.pin", "orders.2.slot"} {
			t.Run(name+" as "+file, func(t *testing.T) {
				t.Parallel()
				s := newSite(t)
				first := s.center(byHand(2))
				require.NoError(t, first.Release(t.Context(), s.acquire(first), 0))
				path := filepath.Join(s.dir, file)
				if c.want != "" {
					require.NoError(t, os.Remove(path))
				}
				require.NoError(t, c.put(path))
				type result struct{ acquiring, listing error }
				done := make(chan result, 1)
				go func() {
					_, err := s.center(byHand(2)).Acquire(t.Context(), s.request())
					_, listing := s.center(byHand(2)).Slots(t.Context(), "orders")
					done <- result{err, listing}
				}()
				select {
				case r := <-done:
					err := r.acquiring
					require.NoError(t, r.listing, "the others are shown")
					require.ErrorContains(t, err, c.want)
					require.NotContains(t, err.Error(), "hunter2")
					require.Less(t, len(err.Error()), 3000)
				case <-time.After(time.Minute):
					t.Fatal("the call blocks on a pipe")
				}
			})
		}
	}
}

func writable(path string, mode fs.FileMode) error {
	if err := os.WriteFile(path, nil, mode); err != nil {
		return err
	}
	return os.Chmod(path, mode) // whatever the umask
}

type fileInfo struct {
	fs.FileInfo
	stat syscall.Stat_t
}

func (f fileInfo) Sys() any { return &f.stat }

func TestOwnedByOthers(t *testing.T) {
	t.Parallel()
	user, group := uint32(os.Geteuid()), uint32(os.Getegid())
	for name, c := range map[string]struct {
		uid, gid uint32
		ok       bool
	}{
		"mine":        {user, group + 4711, true},
		"root's":      {0, group + 4711, true},
		"of my group": {user + 4711, group, true},
		"another's":   {user + 4711, group + 4711, false},
	} {
		err := ownedByOthers(fileInfo{stat: syscall.Stat_t{Uid: c.uid, Gid: c.gid}})
		require.Equal(t, c.ok, err == nil, name)
		if !c.ok {
			require.ErrorContains(t, err, "it belongs to user")
		}
	}
}
