//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package hostseq

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// resolve returns a directory without links. It fails if another user could put another
// directory in its place, where a second process would find the same worker ids free: others
// says whose a link or a directory above it is.
func resolve(dir string, others func(fs.FileInfo) error) (string, error) {
	const maxLinks = 40
	at, links := "/", 0
	for rest := strings.Split(dir, "/"); len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		if at = filepath.Join(at, name); name == "" || name == "." || name == ".." {
			continue
		}
		info, err := os.Lstat(at)
		if err != nil {
			return "", err
		}
		link := info.Mode()&fs.ModeSymlink != 0
		if !link && len(rest) == 0 {
			break // prepare checks the directory itself
		}
		if err = others(info); err == nil && !link && info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
			err = errors.New("everyone can write to it (chmod o-w)")
		}
		if link && err == nil {
			var to string
			links++
			if to, err = os.Readlink(at); links > maxLinks {
				err = errors.New("too many links")
			}
			if rest = append(strings.Split(to, "/"), rest...); filepath.IsAbs(to) {
				at = "/"
			} else {
				at = filepath.Dir(at)
			}
		}
		if err != nil {
			return "", fmt.Errorf("another user could put another directory in its place, by %s (%v): %w", at, info.Mode(), err)
		}
	}
	return at, nil
}
