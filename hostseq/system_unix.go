//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package hostseq

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// flock locks f and reports whether the lock was free. The kernel releases the lock with the last
// descriptor of f.
func flock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// unlock releases the lock on f. Closing f is not enough while a child process has its
// descriptors.
func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// openNoFollow opens a file, but does not follow links of other users or block on a named pipe.
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

// linked reports whether a file has more than one name.
func linked(info fs.FileInfo) bool { return info.Sys().(*syscall.Stat_t).Nlink > 1 }

// private returns an error if anyone but root, the user of this process and its groups may have
// created a file or directory or can change it.
func private(info fs.FileInfo) error {
	gid := int(info.Sys().(*syscall.Stat_t).Gid)
	groups, _ := os.Getgroups()
	err := foreign(info)
	switch {
	case info.Mode().Perm()&0o002 != 0:
		return errors.New("everyone can write to it, and could take its locks (chmod o-w)")
	case err == nil || gid == os.Getegid() || slices.Contains(groups, gid):
		return nil
	}
	return fmt.Errorf("%w outside group %d", err, gid)
}

// foreign returns an error if the owner of a file or directory is neither root nor the user
// of this process.
func foreign(info fs.FileInfo) error {
	if uid := int(info.Sys().(*syscall.Stat_t).Uid); uid != 0 && uid != os.Geteuid() {
		return fmt.Errorf("it belongs to user %d, and this process runs as user %d", uid, os.Geteuid())
	}
	return nil
}

// resolve returns a directory without links, and creates its missing parts. It fails if another
// user could replace the directory, because a second process would then find the same worker ids
// free.
func resolve(dir string) (string, error) { return follow(dir, foreign) }

// follow is resolve with a function foreign that checks the owner of a directory or link. Anybody
// who can write to a directory can rename its entries; in a sticky directory, only their own
// entries.
func follow(dir string, foreign func(fs.FileInfo) error) (string, error) {
	split := func(path string) []string { return strings.FieldsFunc(path, func(r rune) bool { return r == '/' }) }
	at, shared := "/", false // shared: others can write to the directory
	for rest := split(dir); len(rest) > 0; {
		name := filepath.Join(at, rest[0])
		rest = rest[1:]
		info, err := made(name)
		if err != nil {
			return "", err
		}
		link := info.Mode()&fs.ModeSymlink != 0
		writable := !link && othersWrite(info)
		last := !link && len(rest) == 0 // prepare makes the other checks of dir itself
		if shared || !last {
			err = foreign(info)
		}
		if err == nil && writable && !last && info.Mode()&fs.ModeSticky == 0 {
			err = errors.New("others can write to it (chmod go-w)")
		}
		if err != nil {
			return "", fmt.Errorf("another user could put another directory in its place, by %s (%v): %w", name, info.Mode(), err)
		}
		if !link {
			at, shared = name, writable
			continue
		}
		to, err := os.Readlink(name)
		if _, nowhere := os.Stat(name); err != nil || nowhere != nil {
			return "", cmp.Or(err, nowhere)
		}
		if filepath.IsAbs(to) {
			at, shared = "/", false
		}
		rest = append(split(to), rest...)
	}
	return at, nil
}

// othersWrite reports whether others can write to a directory. A group with the number of the
// process's user is private to that user, as useradd creates it: such systems let groups write by
// default.
func othersWrite(info fs.FileInfo) bool {
	own := int(info.Sys().(*syscall.Stat_t).Gid) == os.Geteuid()
	return info.Mode().Perm()&0o002 != 0 || info.Mode().Perm()&0o020 != 0 && !own
}

// made describes a directory or link. If nothing exists at path, made creates a directory.
func made(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.Mkdir(path, 0o700); err == nil || errors.Is(err, fs.ErrExist) {
			info, err = os.Lstat(path)
		}
	}
	return info, err
}
