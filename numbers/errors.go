package numbers

import (
	"errors"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/numberstore"
)

var (
	// ErrUnknown is returned if the name is not in the store and the store may not
	// create it. A Segment that has numbers returns it after a wipe of the store: stop the
	// processes that use the name, and create it above all its numbers.
	ErrUnknown = numberstore.ErrUnknown
	// ErrExists is returned if the name to create already exists.
	ErrExists = numberstore.ErrExists
	// ErrEnd is returned if no number up to SegmentConfig.Max is left.
	ErrEnd = numberstore.ErrEnd
	// ErrClock is returned by a series if the clock of the store is more than five minutes outside
	// of the period that is asked for.
	ErrClock = numberstore.ErrClock
	// ErrUnavailable is returned if no number is prefetched and the store provides none,
	// because it is down or slower than the caller waits. The error also wraps that of the
	// store or of the caller's context.
	ErrUnavailable = numberstore.ErrUnavailable
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("segment: closed")
)

// final reports whether retrying is useless until somebody changes something.
func final(err error) bool {
	return errors.Is(err, ErrUnknown) || errors.Is(err, ErrEnd) || errors.Is(err, ErrClosed) || errors.Is(err, numberstore.ErrRequest) || errors.Is(err, generator.ErrNotStarted)
}
