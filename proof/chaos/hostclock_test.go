package chaos

import (
	"os"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// shared returns the number in a file. All processes see its changes at once.
func shared(name string) (*atomic.Int64, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if err := file.Truncate(8); err != nil {
		return nil, err
	}
	b, err := unix.Mmap(int(file.Fd()), 0, 8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return (*atomic.Int64)(unsafe.Pointer(&b[0])), nil
}

// stepped is t by a clock that was set. As on any host, the monotonic reading (the
// second word) was not: Sub returns the time that has passed.
func stepped(t time.Time, off time.Duration) time.Time {
	shown := t.Add(off)
	(*[2]int64)(unsafe.Pointer(&shown))[1] = (*[2]int64)(unsafe.Pointer(&t))[1]
	return shown
}

func TestStepped(t *testing.T) {
	t.Parallel()
	now := time.Now()
	back := stepped(now, -time.Minute)
	require.Equal(t, now.UnixNano()-time.Minute.Nanoseconds(), back.UnixNano())
	require.Equal(t, time.Second, stepped(now.Add(time.Second), time.Hour).Sub(back))
}
