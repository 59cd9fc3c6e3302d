//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package hostseq

import (
	"fmt"
	"os"
	"runtime"
)

// canLock says why there are no locks on this system.
func canLock() error {
	return fmt.Errorf("local: no file locks on %s", runtime.GOOS)
}

func flock(*os.File) (bool, error) { return false, canLock() }
