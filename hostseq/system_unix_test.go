//go:build unix

package hostseq

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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

// Whatever somebody has put where a file belongs is neither followed, changed, shown nor waited
// for.
func TestWhatIsNoFileOfOurs(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	const content = "hunter2Geheim"
	require.NoError(t, os.WriteFile(secret, []byte(content), 0o600))
	for name, c := range map[string]struct {
		put  func(path string) error
		want string
	}{
		"a link":               {func(path string) error { return os.Symlink(secret, path) }, "too many levels of symbolic links"},
		"a hard link":          {func(path string) error { return os.Link(secret, path) }, "has another name (a hard link)"},
		"a named pipe":         {func(path string) error { return syscall.Mkfifo(path, 0o600) }, "is not a regular file"},
		"a directory":          {func(path string) error { return os.Mkdir(path, 0o700) }, "director"},
		"a device":             {func(path string) error { return os.Symlink("/dev/zero", path) }, "too many levels of symbolic links"},
		"everyone's file":      {func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o666), os.Chmod(path, 0o666)) }, "everyone can write to it"},
		"a file of everything": {func(path string) error { return os.Truncate(path, 1<<40) }, ""},
	} {
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
				done := make(chan error)
				go func() {
					_, err := s.center().Extras().Lister.Slots(t.Context(), "orders")
					assert.NoError(t, err, "the others are shown")
					_, err = s.center(byHand(2)).Acquire(t.Context(), s.request())
					done <- err
				}()
				select {
				case err := <-done:
					require.ErrorContains(t, err, c.want)
					require.NotContains(t, err.Error(), "hunter2")
					require.Less(t, len(err.Error()), 3000)
				case <-time.After(time.Minute):
					t.Fatal("the call blocks on a pipe")
				}
				kept, err := os.ReadFile(secret)
				require.NoError(t, err)
				require.Equal(t, content, string(kept))
			})
		}
	}
}

// A file has two names while it is made, and after a crash then.
func TestFileThatIsBeingMade(t *testing.T) {
	t.Parallel()
	d := slots(t.TempDir())
	require.NoError(t, d.create(d.path("orders", 0), record{}.encode()))
	left, another := filepath.Join(string(d), newPrefix+"1"), filepath.Join(string(d), newPrefix+"2")
	require.NoError(t, os.Link(d.path("orders", 0), left))
	require.NoError(t, os.WriteFile(another, nil, 0o600))
	var wg sync.WaitGroup
	for worker := range int64(50) {
		for range 3 { // processes
			wg.Go(func() {
				f, _, err := d.open("orders", worker)
				if !errors.Is(err, ErrHeld) && assert.NoError(t, err) {
					defer f.Close()
				}
			})
		}
	}
	wg.Wait()
	require.NoFileExists(t, left)
	require.FileExists(t, another, "that of another file is left alone")
}

type fileInfo struct {
	fs.FileInfo
	stat syscall.Stat_t
}

func (fileInfo) Mode() fs.FileMode { return 0o770 }
func (f fileInfo) Sys() any        { return &f.stat }

func TestOwners(t *testing.T) {
	t.Parallel()
	user, group := uint32(os.Geteuid()), uint32(os.Getegid())
	for name, c := range map[string]struct {
		uid, gid      uint32
		onTheWay, dir bool
	}{
		"mine":        {user, group + 4711, true, true},
		"root's":      {0, group + 4711, true, true},
		"of my group": {user + 4711, group, false, true},
		"another's":   {user + 4711, group + 4711, false, false},
	} {
		info := fileInfo{stat: syscall.Stat_t{Uid: c.uid, Gid: c.gid}}
		require.Equal(t, c.onTheWay, foreign(info) == nil, name)
		err := private(info)
		require.Equal(t, c.dir, err == nil, name)
		if !c.dir {
			require.ErrorContains(t, err, fmt.Sprintf("it belongs to user %d, and this process runs as user %d outside group %d", c.uid, user, c.gid))
		}
	}
}

func TestFilesTakenAway(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(dir, path string) error{
		"file":      func(_, path string) error { return os.Remove(path) },
		"directory": func(dir, _ string) error { return os.RemoveAll(dir) },
		"replaced": func(dir, path string) error {
			return errors.Join(os.Rename(path, path+".old"), slots(dir).create(path, record{Worker: 2}.encode()))
		},
		"moved": func(dir, _ string) error { return os.Rename(dir, dir+".old") },
	} {
		s := newSite(t)
		s.dir = filepath.Join(s.dir, "d")
		c := s.center(byHand(2))
		g := s.acquire(c)
		require.NoError(t, take(s.dir, slots(s.dir).path("orders", 2)))
		_, err := c.Renew(t.Context(), g)
		require.ErrorIs(t, err, lease.ErrLost, name)
		require.ErrorIs(t, c.Release(t.Context(), g, 0), lease.ErrLost, name)
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
	require.ErrorContains(t, err, "deleted in the meantime")
	require.NoError(t, d.create(path, record{Worker: 2}.encode()))
	_, err = d.claim(f, path, "orders", 2)
	require.ErrorContains(t, err, "replaced")
}

// Whoever could lead a second process to another directory is refused, before anything is made
// there.
func TestDirectoryThatOthersCanRedirect(t *testing.T) {
	t.Parallel()
	base := ownDir(t)
	at := func(path string) string { return base + "/" + path }
	require.NoError(t, os.MkdirAll(at("way/dir"), 0o700))
	require.NoError(t, os.Symlink("way/dir/", at("link")))
	const others, everyone = "others can write to it (chmod go-w)", "everyone can write to it, and could take its locks (chmod o-w)"
	own := os.Geteuid() // the number of the user's own group, if there is one
	for _, c := range []struct {
		gid            int
		way, dir       fs.FileMode
		there, missing string // errors
	}{
		{own, 0o777, 0o700, others, others},
		{own + 1, 0o770, 0o700, others, others},
		{own, 0o770, 0o700, "", ""},
		{own, 0o777 | fs.ModeSticky, 0o700, "", ""},
		{own, 0o755, 0o770, "", ""},
		{own, 0o700, 0o777, everyone, ""},
	} {
		if c.gid != os.Getegid() && os.Chown(base, -1, c.gid) != nil {
			continue // only root is in any group
		}
		require.NoError(t, errors.Join(os.RemoveAll(at("way/new")), os.Chown(at("way"), -1, c.gid), os.Chmod(at("way"), c.way), os.Chmod(at("way/dir"), c.dir)))
		for path, want := range map[string]string{"way/dir": c.there, "link": c.there, "way/new/dir": c.missing} {
			_, err := New(Config{Dir: at(path)}, narrow)
			if want == "" {
				require.NoError(t, err, "%+v %s", c, path)
			} else {
				require.ErrorContains(t, err, want, "%+v %s", c, path)
			}
		}
		require.Equal(t, c.missing == "", exists(at("way/new")))
	}
}

// What another user owns on the way is refused, whatever its group.
func TestDirectoryByWayOfAnother(t *testing.T) {
	t.Parallel()
	base := ownDir(t)
	way, link := filepath.Join(base, "way"), filepath.Join(base, "link")
	require.NoError(t, os.Mkdir(way, 0o700))
	require.NoError(t, os.Symlink("way", link))
	follows := func(path, foreign string) error {
		got, err := follow(path, func(info fs.FileInfo) error {
			if info.Name() == foreign {
				return syscall.EPERM
			}
			return nil
		})
		require.Equal(t, err == nil, got == filepath.Join(way, filepath.Base(path)))
		return err
	}
	require.ErrorIs(t, follows(link+"/new", "link"), syscall.EPERM)
	require.ErrorIs(t, follows(link+"/new", "way"), syscall.EPERM)
	require.NoDirExists(t, way+"/new")
	require.NoError(t, follows(link+"/new", "new"), "prepare decides on the directory itself")
	require.NoError(t, os.Chmod(way, 0o777|fs.ModeSticky))
	require.ErrorIs(t, follows(link+"/new", "new"), syscall.EPERM, "its owner can rename it")
	if os.Geteuid() == 0 { // only root can give it away
		require.NoError(t, os.Chown(way, 4711, os.Getegid()))
		_, err := New(Config{Dir: way + "/new"}, narrow)
		require.ErrorContains(t, err, "it belongs to user 4711")
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	base := ownDir(t)
	first, link := filepath.Join(base, "first"), filepath.Join(base, "link")
	require.NoError(t, os.Mkdir(first, 0o700))
	for to, ok := range map[string]bool{first: true, "./first/../first/": true, "link": false, "nowhere": false} {
		_ = os.Remove(link)
		require.NoError(t, os.Symlink(to, link))
		c, err := New(Config{Dir: link}, narrow)
		require.Equal(t, ok, err == nil, "%s: %v", to, err)
		if ok {
			require.Equal(t, first, string(c.(*center).dir), "a link that changes later leads nowhere else")
		}
	}
	require.NoDirExists(t, filepath.Join(base, "nowhere"), "such as a volume that is not mounted")
}
