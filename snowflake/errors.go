package snowflake

import "errors"

// Why no id is issued. Test for them with errors.Is.
var (
	// ErrNotStarted is returned before the first range of a worker id is adopted.
	ErrNotStarted = errors.New("snowflake: not started: no worker id yet")
	// ErrLeaseExpired is returned once the time has passed the ceiling of the
	// range: the lease was not renewed in time. Ids go on with the next renewal.
	ErrLeaseExpired = errors.New("snowflake: lease expired: past the ceiling of the worker id")
	// ErrStopped is returned for good after Stop.
	ErrStopped = errors.New("snowflake: stopped")
	// ErrExhausted is returned when ids are asked for faster than the layout has
	// them, and the lead over the clock is used up. After the center's clock was set
	// back the rate is lower: what is left of the range lasts until it has caught up.
	ErrExhausted = errors.New("snowflake: sequence exhausted: more ids were asked for than the layout has")
)
