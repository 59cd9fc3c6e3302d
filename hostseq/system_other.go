//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package hostseq

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

func resolve(string) (string, error) {
	return "", fmt.Errorf("no file locks on %s (%w): choose source %s with stateless, or mode db or redis", runtime.GOOS, errors.ErrUnsupported, Explicit)
}

// The functions below are not called, because resolve fails.

func flock(*os.File) (bool, error)               { return false, errors.ErrUnsupported }
func unlock(*os.File)                            {}
func openNoFollow(string, int) (*os.File, error) { return nil, errors.ErrUnsupported }
func syncDir(string) error                       { return errors.ErrUnsupported }
func linked(fs.FileInfo) bool                    { return false }
func private(fs.FileInfo) error                  { return errors.ErrUnsupported }
