//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package hostseq

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// resolve returns a directory without links. It fails if another user could put another
// directory in its place, where a second process would find the same worker ids free: others
// says whose a link or a directory above it is.
func resolve(dir string, others func(fs.FileInfo) error) (string, error) {
	const maxLinks = 40
	at, links := "/", 0
	for rest := strings.Split(dir, "/"); len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		if at = filepath.Join(at, name); name == "" || name == "." || name == ".." {
			continue
		}
		info, err := os.Lstat(at)
		if err != nil {
			return "", err
		}
		link := info.Mode()&fs.ModeSymlink != 0
		if !link && len(rest) == 0 {
			break // prepare checks the directory itself
		}
		if err = others(info); err == nil && !link && info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
			err = errors.New("everyone can write to it (chmod o-w)")
		}
		if link && err == nil {
			var to string
			links++
			if to, err = os.Readlink(at); links > maxLinks {
				err = errors.New("too many links")
			}
			if rest = append(strings.Split(to, "/"), rest...); filepath.IsAbs(to) {
				at = "/"
			} else {
				at = filepath.Dir(at)
			}
		}
		if err != nil {
			return "", fmt.Errorf("another user could put another directory in its place, by %s (%v): %w", at, info.Mode(), err)
		}
	}
	return at, nil
}
