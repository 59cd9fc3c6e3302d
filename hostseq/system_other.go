//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package hostseq

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

func canLock() error {
	return fmt.Errorf("no file locks on %s (%w): choose source %s with stateless, or mode db or redis", runtime.GOOS, errors.ErrUnsupported, Explicit)
}

func flock(*os.File) (bool, error)               { return false, canLock() }
func unlock(*os.File)                            {}
func openNoFollow(string, int) (*os.File, error) { return nil, canLock() }
func syncDir(string) error                       { return canLock() }
func linked(fs.FileInfo) bool                    { return false }
func private(fs.FileInfo) error                  { return canLock() }
func resolve(string) (string, error)             { return "", canLock() }
