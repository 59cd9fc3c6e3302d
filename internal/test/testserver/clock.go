package testserver

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

//go:embed clock/clock.c
var clockSource []byte

// ShiftClock sets the server's wall clock to this machine's plus d, which may be
// negative. It takes effect at once on a running server, and lasts until the next
// ShiftClock, even across Stop, Kill and Start. The monotonic clock stays unchanged.
//
// The server sees the shift whenever it reads the time. Its waits last as long as they
// would without it.
func (s *Server) ShiftClock(d time.Duration) {
	s.t.Helper()
	if s.shim == "" {
		_, err := clockShim()
		leaveOut(s.t, "C compiler", fmt.Sprintf("a server's clock cannot be stepped: %v: install the package gcc", err))
	}
	s.do(func(s *Server) error {
		f, err := os.OpenFile(s.clock(), os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(d)), 0) // the page is mapped, so never truncate it
		// Valkey takes its time from the monotonic clock for up to a millisecond.
		time.Sleep(2 * time.Millisecond)
		return err
	})
}

// ClocksMove reports whether ShiftClock works on this machine.
func ClocksMove() bool {
	_, err := clockShim()
	return err == nil
}

func (s *Server) clock() string { return filepath.Join(s.dir, "clock") }

// clockShim returns the library that servers preload so that their clocks can be
// stepped. It is compiled once per test binary, and Main removes it.
var clockShim = sync.OnceValues(func() (string, error) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "snowlease-test-")
	if err != nil {
		return "", err
	}
	state.Lock()
	state.folders = append(state.folders, dir)
	state.Unlock()
	source, library := filepath.Join(dir, "clock.c"), filepath.Join(dir, "clock.so")
	if err := os.WriteFile(source, clockSource, 0o600); err != nil {
		return "", err
	}
	if out, err := output(cc, "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, source, "-ldl"); err != nil {
		return "", fmt.Errorf("compile the shim of the clock: %w\n%s", err, out)
	}
	for _, path := range []string{dir, library} { // servers run as other users
		if err := os.Chmod(path, 0o755); err != nil {
			return "", err
		}
	}
	return library, nil
})
