package snowlease

import (
	"errors"

	"github.com/snowlease/snowlease/internal/generator"
)

// Errors of a Worker. Test for them with errors.Is.
var (
	// ErrNotStarted is returned before the start, and during a Reset until there is a worker
	// id; NextIDWait and NextIDs wait for the end of a Reset. The error also wraps the last
	// error of the center, if any.
	ErrNotStarted = generator.ErrNotStarted
	// ErrLeaseExpired is returned if the center has not renewed the lease in time. The error
	// also wraps the last error of the center, if any, such as lease.ErrLost.
	ErrLeaseExpired = generator.ErrLeaseExpired
	// ErrClosed is returned after Close.
	ErrClosed = generator.ErrClosed
	// ErrExhausted is returned if callers ask for ids faster than the layout provides them, and
	// in mode redis-sequence by NextID if none is reserved ahead.
	ErrExhausted = generator.ErrExhausted

	errCopies = errors.New("a copied process may have the same worker id: give each copy one of its own, or use a center that all hosts share")
)
