package idworker

import "github.com/snowlease/snowlease/snowflake"

// Errors of NextID and its variants. Test for them with errors.Is.
var (
	// ErrNotStarted is returned before the application has started, and during a Reset until
	// there is a worker id; NextIDWait and NextIDs wait for the end of a Reset. The error also
	// wraps the last error of the center, if any.
	ErrNotStarted = snowflake.ErrNotStarted
	// ErrLeaseExpired is returned if the center has not renewed the lease in time. The error
	// also wraps the last error of the center, such as lease.ErrLost.
	ErrLeaseExpired = snowflake.ErrLeaseExpired
	// ErrStopped is returned after Stop, and after the fx application has stopped.
	ErrStopped = snowflake.ErrStopped
	// ErrExhausted is returned if callers ask for ids faster than the layout provides them.
	ErrExhausted = snowflake.ErrExhausted
)
