//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package hostseq

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// canLock returns why there are no locks on this system, or nil.
func canLock() error { return nil }

// flock takes the lock on f and reports whether it was free. The kernel releases it
// with the last descriptor of f.
func flock(f *os.File) (bool, error) {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		default:
			return err == nil, err
		}
	}
}

// unlock releases the lock on f. Closing f is not enough while a process that this one
// starts has its descriptors.
func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// openNoFollow does not follow links that somebody else has made, nor block on a named pipe.
func openNoFollow(path string, flag int) (*os.File, error) {
	return os.OpenFile(path, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}

// syncDir makes the entries of a directory durable.
func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// private returns an error if a file or directory may have been made, or can be
// changed, by anyone but root, the user of this process and its groups.
func private(info fs.FileInfo) error {
	if info.Mode().Perm()&0o002 != 0 {
		return errors.New("everyone can write to it, and could take its locks (chmod o-w)")
	}
	return ownedByOthers(info)
}

// ownedByOthers returns an error if the owner of a file or directory is neither root
// nor this user, and its group is none of this process.
func ownedByOthers(info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Uid == 0 || int64(st.Uid) == int64(os.Geteuid()) || int64(st.Gid) == int64(os.Getegid()) {
		return nil
	}
	groups, err := os.Getgroups()
	if err == nil && slices.Contains(groups, int(st.Gid)) {
		return nil
	}
	return fmt.Errorf("it belongs to user %d and group %d, and this process runs as user %d outside that group", st.Uid, st.Gid, os.Geteuid())
}

// isolated reports whether this is a container of a kind that inContainer does not know.
func isolated() bool { return false }
