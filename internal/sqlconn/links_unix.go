//go:build unix

package sqlconn

import (
	"os"
	"syscall"
)

// links returns the number of hard links of a file, or 0 if it is unknown.
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
