package generator

import "errors"

// Errors of a Generator, for errors.Is.
var (
	// ErrNotStarted is returned while the generator has no range: before the first
	// Adopt and after Drop. NextIDWait and NextIDs wait after Drop.
	ErrNotStarted = errors.New("snowlease: not started: no worker id yet")
	// ErrLeaseExpired is returned when the lease was not renewed in time: time has passed the
	// ceiling of the range, or a burst has used up the range and a renewal has failed. Ids resume
	// with the next renewal.
	ErrLeaseExpired = errors.New("snowlease: lease expired: no ids until it is renewed")
	// ErrClosed is returned after Stop, until Resume.
	ErrClosed = errors.New("snowlease: closed")
	// ErrExhausted is returned when a burst has used up its lead over the clock, or the range, and
	// callers still request more ids than the layout holds. After the center's clock steps back by
	// more than the lease allows for, fewer ids are available for a while.
	ErrExhausted = errors.New("snowlease: exhausted: more ids were requested than the layout holds")
)
