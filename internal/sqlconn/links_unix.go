//go:build unix

package sqlconn

import (
	"os"
	"syscall"
)

// links returns how many hard links a file has, or 0 if it cannot tell.
func links(file string) uint64 {
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink) //nolint:unconvert,nolintlint // its type differs between systems
	}
	return 0
}
