//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package hostseq

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// openFlags keep a name that somebody else has made from leading elsewhere, and a named
// pipe from keeping the caller waiting.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// ownedByOthers says why a file or directory is in the hands of somebody who shares no
// group with this process and is not root.
func ownedByOthers(info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Uid == 0 || int64(st.Uid) == int64(os.Geteuid()) || int64(st.Gid) == int64(os.Getegid()) {
		return nil
	}
	groups, err := os.Getgroups()
	if err == nil && slices.Contains(groups, int(st.Gid)) {
		return nil
	}
	return fmt.Errorf("it belongs to user %d and group %d, of which this process (user %d) is none", st.Uid, st.Gid, os.Geteuid())
}
