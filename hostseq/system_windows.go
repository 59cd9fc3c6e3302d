package hostseq

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"unsafe"
)

var lockFileEx = syscall.NewLazyDLL("kernel32.dll").NewProc("LockFileEx")

// flock locks f and reports whether the lock was free. The kernel releases the lock when f is
// closed. Others cannot read a locked byte, so the lock is on a byte far beyond the record.
func flock(f *os.File) (bool, error) {
	const failImmediately, exclusive, lockViolation = 1, 2, syscall.Errno(33)
	at := syscall.Overlapped{OffsetHigh: 1 << 30}
	ok, _, err := lockFileEx.Call(f.Fd(), failImmediately|exclusive, 0, 1, 0, uintptr(unsafe.Pointer(&at)))
	switch {
	case ok != 0:
		return true, nil
	case errors.Is(err, lockViolation):
		return false, nil
	}
	return false, err
}

// unlock does nothing, because closing f releases the lock.
func unlock(*os.File) {}

// openNoFollow opens a link itself instead of its target. Unlike os.OpenFile, it lets others
// remove the file, because create removes it under its other name.
func openNoFollow(path string, flag int) (*os.File, error) {
	access := uint32(syscall.GENERIC_READ)
	if flag == os.O_RDWR {
		access |= syscall.GENERIC_WRITE
	}
	name, _ := syscall.UTF16PtrFromString(path) // fails only for a zero, which no valid path has
	h, err := syscall.CreateFile(name, access, syscall.FILE_SHARE_READ|syscall.FILE_SHARE_WRITE|syscall.FILE_SHARE_DELETE,
		nil, syscall.OPEN_EXISTING, syscall.FILE_ATTRIBUTE_NORMAL|syscall.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(h), path), nil
}

// syncDir does nothing, because Windows does not sync directories. If a file is missing, its
// worker id starts as on a new host.
func syncDir(string) error { return nil }

// private does not check access control lists. The mode bits of a file mean nothing on Windows.
func private(fs.FileInfo) error { return nil }

func linked(fs.FileInfo) bool { return false }

func resolve(dir string) (string, error) { return dir, os.MkdirAll(dir, 0o700) }
