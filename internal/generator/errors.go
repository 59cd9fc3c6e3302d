package generator

import "errors"

// Errors that explain why no id is issued. Test for them with errors.Is.
var (
	// ErrNotStarted is returned while the generator has no range: before the first
	// Adopt and after Drop. NextIDWait and NextIDs wait after Drop.
	ErrNotStarted = errors.New("snowflake: not started: no worker id yet")
	// ErrLeaseExpired is returned when time has passed the ceiling of the range,
	// because the lease was not renewed in time, or when a burst has used up a range that
	// begins ahead of the clock. After the next renewal, there are ids again.
	ErrLeaseExpired = errors.New("snowflake: lease expired: its range is used up and not renewed yet")
	// ErrStopped is returned after Stop, until Resume.
	ErrStopped = errors.New("snowflake: stopped")
	// ErrExhausted is returned when a burst has used up its lead over the clock and
	// demand still exceeds what the layout holds. After the center's clock steps back,
	// fewer ids are available until the clock has caught up.
	ErrExhausted = errors.New("snowflake: sequence exhausted: more ids were requested than the layout holds")
)
