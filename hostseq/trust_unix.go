//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package hostseq

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// openFlags prevents following links that somebody else has made, and blocking on a
// named pipe.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

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
