package idworker

import (
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// Why no id is issued. Test for them with errors.Is.
var (
	// ErrNotStarted is returned before the application has started, and after a Reset until
	// there is a worker id. It wraps the last error of the center, if there was one.
	ErrNotStarted = snowflake.ErrNotStarted
	// ErrLeaseExpired is returned while the center has not renewed the lease in
	// time. It wraps the last error of the center.
	ErrLeaseExpired = snowflake.ErrLeaseExpired
	// ErrStopped is returned after Close, or after the fx application has stopped.
	ErrStopped = snowflake.ErrStopped
	// ErrExhausted is returned when ids are asked for faster than the layout has
	// them.
	ErrExhausted = snowflake.ErrExhausted
	// ErrLost is what Status tells after a lease was lost.
	ErrLost = lease.ErrLost
)

// Why no worker id is lent. Test for them with errors.As.
type (
	// NoFreeWorkerError tells that every worker id is lent.
	NoFreeWorkerError = lease.NoFreeWorkerError
	// QuarantineError tells that the center may have forgotten leases and has nothing to
	// lend above them yet.
	QuarantineError = lease.QuarantineError
	// MismatchError tells that the namespace is pinned to another layout, pool, MaxTTL
	// or skew.
	MismatchError = lease.MismatchError
	// ClockError tells that the center's clock and this host's are minutes apart.
	ClockError = lease.ClockError
)
