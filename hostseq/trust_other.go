//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package hostseq

import "io/fs"

const openFlags = 0

func ownedByOthers(fs.FileInfo) error { return nil }
