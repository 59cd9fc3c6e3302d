package hostseq

import "errors"

// Errors that explain why no worker id is lent. Test for them with errors.Is.
var (
	// ErrHeld is returned while somebody else has the worker id of source explicit: another
	// process that shares the directory, or another owner in this process.
	ErrHeld = errors.New("local: worker id is held")
	// ErrClockBehind is returned while the clock of the host is behind the last use of
	// a worker id by more than Config.MaxBehind and the lease's MaxTTL allow.
	ErrClockBehind = errors.New("local: clock is behind the last use of the worker id")
)
