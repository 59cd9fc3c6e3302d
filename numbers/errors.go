package numbers

import (
	"errors"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/numberstore"
)

var (
	// ErrUnknown is returned if the name is not in the store and the store may not create it. A
	// Segment that has had numbers returns it after the store was wiped: stop the processes
	// that use the name, and create the name with a Start above all of its numbers.
	ErrUnknown = numberstore.ErrUnknown
	// ErrExists is returned if the name to create already exists.
	ErrExists = numberstore.ErrExists
	// ErrEnd is returned if no number up to SegmentConfig.Max is left.
	ErrEnd = numberstore.ErrEnd
	// ErrClock is returned by a Series if the clock of the store is more than five minutes outside
	// of the requested period.
	ErrClock = numberstore.ErrClock
	// ErrUnavailable is returned if no number is prefetched and the store provides none,
	// because it is down or does not respond before the caller's context ends. The error also
	// wraps the error of the store or of the context.
	ErrUnavailable = numberstore.ErrUnavailable
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("segment: closed")
)

// final reports whether retrying is useless until an operator intervenes.
func final(err error) bool {
	return errors.Is(err, ErrUnknown) || errors.Is(err, ErrEnd) || errors.Is(err, ErrClosed) || errors.Is(err, numberstore.ErrRequest) || errors.Is(err, generator.ErrNotStarted)
}
