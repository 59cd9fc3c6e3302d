package snowlease

import (
	"errors"

	"github.com/snowlease/snowlease/internal/generator"
)

// Errors of a Worker, for errors.Is.
var (
	// ErrNotStarted is returned before the start, and during a Reset until the worker has a worker
	// id; NextIDWait and NextIDs wait for the end of a Reset instead. The error also wraps the last
	// error of the center, if any.
	ErrNotStarted = generator.ErrNotStarted
	// ErrLeaseExpired is returned if the center has not renewed the lease in time. The error
	// also wraps the last error of the center, if any, such as lease.ErrLost.
	ErrLeaseExpired = generator.ErrLeaseExpired
	// ErrClosed is returned after Close.
	ErrClosed = generator.ErrClosed
	// ErrExhausted is returned if callers request ids faster than the layout provides them. In mode
	// redis-sequence, NextID also returns it if no ids are reserved ahead.
	ErrExhausted = generator.ErrExhausted

	errCopies = errors.New("a copied process may have the same worker id: give each copy one of its own, or use a center that all hosts share")
)
