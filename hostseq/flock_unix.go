//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package hostseq

import (
	"errors"
	"os"
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
