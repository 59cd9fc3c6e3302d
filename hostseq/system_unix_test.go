//go:build unix

package hostseq

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// A process that is being started has the descriptors of this one for a moment.
func TestReleaseWhileAProcessStarts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.center(byHand(2))
	g := s.acquire(c)
	child, err := syscall.Dup(int(c.held[holderOf(g.Request)].file.Fd()))
	require.NoError(t, err)
	defer syscall.Close(child)
	require.NoError(t, c.Release(t.Context(), g, 0))
	s.acquire(c)
}

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
					_, listing := s.center(byHand(2)).Extras().Lister.Slots(t.Context(), "orders")
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

func TestFilesTakenAway(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(t *testing.T, dir string){
		"file":      func(t *testing.T, dir string) { require.NoError(t, os.Remove(filepath.Join(dir, "orders.2.slot"))) },
		"directory": func(t *testing.T, dir string) { require.NoError(t, os.RemoveAll(dir)) },
		"replaced": func(t *testing.T, dir string) {
			path := filepath.Join(dir, "orders.2.slot")
			require.NoError(t, os.Rename(path, path+".old"))
			require.NoError(t, slots(dir).create(path, record{Worker: 2}.encode()))
		},
		"moved": func(t *testing.T, dir string) { require.NoError(t, os.Rename(dir, dir+".old")) },
	} {
		s := newSite(t)
		s.dir = filepath.Join(s.dir, "d")
		c := s.center(byHand(2))
		g := s.acquire(c)
		take(t, s.dir)
		_, err := c.Renew(t.Context(), g)
		require.ErrorIs(t, err, lease.ErrLost, name)
		require.ErrorIs(t, c.Release(t.Context(), g, 0), lease.ErrLost, name)
		require.NoError(t, os.MkdirAll(s.dir, 0o700))
		s.acquire(s.center(byHand(2)))
		_, err = c.Acquire(t.Context(), g.Request)
		require.ErrorIs(t, err, ErrHeld, "the owner that asks again has nothing any more")
	}
}

// A file that is replaced between opening and locking is not the one that others lock.
func TestFileReplacedWhileOpened(t *testing.T) {
	t.Parallel()
	d := slots(t.TempDir())
	path := d.path("orders", 2)
	require.NoError(t, d.create(path, record{Worker: 2}.encode()))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	_, err = d.claim(f, path, "orders", 2)
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	_, err = d.claim(f, path, "orders", 2)
	require.ErrorContains(t, err, "deleted meanwhile")
	require.NoError(t, d.create(path, record{Worker: 2}.encode()))
	_, err = d.claim(f, path, "orders", 2)
	require.ErrorContains(t, err, "replaced")
	other, _, err := d.open("orders", 2)
	require.NoError(t, err)
	require.NoError(t, other.Close())
}

func TestLinksAreNotFollowed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	other := filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.WriteFile(other, record{Worker: 2}.encode(), 0o600))
	require.NoError(t, os.Symlink(other, filepath.Join(s.dir, "orders.2.slot")))
	_, err := s.center(byHand(2)).Acquire(t.Context(), s.request())
	require.ErrorIs(t, err, syscall.ELOOP)
	kept, err := os.ReadFile(other)
	require.NoError(t, err)
	require.Equal(t, record{Worker: 2}.encode(), kept)
}

func TestAPausedProcessKeepsItsSlot(t *testing.T) {
	t.Parallel()
	r := role{Config: Config{Dir: t.TempDir(), Worker: worker(2)}, Layout: narrow}
	p, late := start(t, r), start(t, r)
	p.must("acquire", 0)
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGSTOP))
	require.True(t, late.do("acquire", 0).Held)
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGCONT))
	p.must("renew", 0)
}

func TestDirectoryOfEveryone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o777))
	_, err := New(Config{Dir: dir}, narrow)
	require.ErrorContains(t, err, "everyone")
	require.ErrorContains(t, err, "chmod o-w")
}

// Whoever could lead a second process to another directory is refused.
func TestDirectoryThatOthersCanRedirect(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	open, dir, link := filepath.Join(base, "open"), filepath.Join(base, "open", "dir"), filepath.Join(base, "link")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.Symlink(dir, link))

	got, err := resolve(link+"/../dir", ownedByOthers)
	require.NoError(t, err)
	require.Equal(t, dir, got)

	stranger := errors.New("a stranger's")
	_, err = resolve(link, func(info fs.FileInfo) error {
		if info.Mode()&fs.ModeSymlink != 0 {
			return stranger
		}
		return nil
	})
	require.ErrorIs(t, err, stranger, "a link of another user")

	require.NoError(t, os.Chmod(open, 0o777))
	for _, path := range []string{dir, link} {
		_, err = New(Config{Dir: path}, narrow)
		require.ErrorContains(t, err, "everyone can write to it", path)
	}
	require.NoError(t, os.Chmod(open, 0o777|fs.ModeSticky))
	_, err = New(Config{Dir: link}, narrow)
	require.NoError(t, err, "only the owner may rename what is in a sticky directory")

	require.NoError(t, os.Symlink("self", filepath.Join(base, "self")))
	_, err = resolve(filepath.Join(base, "self"), ownedByOthers)
	require.Error(t, err)
}

// A link that changes later leads a process nowhere else.
func TestDirectoryIsResolvedOnce(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	first, link := filepath.Join(base, "first"), filepath.Join(base, "link")
	require.NoError(t, os.Mkdir(first, 0o700))
	require.NoError(t, os.Symlink(first, link))
	c, err := New(Config{Dir: link}, narrow)
	require.NoError(t, err)
	require.Contains(t, c.Extras().Promise, first)
}
