package idworker

import (
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// Errors of NextID and its variants. Test for them with errors.Is.
var (
	// ErrNotStarted is returned before the application has started, and during a Reset until
	// there is a worker id; NextIDWait and NextIDs wait for the end of a Reset. The error also
	// wraps the last error of the center, if any.
	ErrNotStarted = snowflake.ErrNotStarted
	// ErrLeaseExpired is returned if the center has not renewed the lease in time. The error
	// also wraps the last error of the center.
	ErrLeaseExpired = snowflake.ErrLeaseExpired
	// ErrStopped is returned after Close, and after the fx application has stopped.
	ErrStopped = snowflake.ErrStopped
	// ErrExhausted is returned if callers ask for ids faster than the layout provides them.
	ErrExhausted = snowflake.ErrExhausted
	// ErrLost is in Status.Err from the loss of a lease to the next attempt to borrow. An
	// ErrLeaseExpired of NextID may wrap it.
	ErrLost = lease.ErrLost
)

// Errors of Open and of the fx start. Test for them with errors.As.
type (
	// NoFreeWorkerError means that every worker id is lent.
	NoFreeWorkerError = lease.NoFreeWorkerError
	// QuarantineError means that the center may have forgotten leases and lends nothing yet.
	QuarantineError = lease.QuarantineError
	// MismatchError means that the namespace is pinned to another layout, pool, MaxTTL or
	// skew, or is retired.
	MismatchError = lease.MismatchError
	// ClockError means that the center's clock and this host's are more than 5 minutes apart.
	ClockError = lease.ClockError
)
