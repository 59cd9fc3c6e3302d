package hostseq

import "errors"

// Errors of Acquire, for errors.Is.
var (
	// ErrHeld is returned while the worker id of source explicit is held by another process that
	// shares the directory, or by another owner in this process.
	ErrHeld = errors.New("local: worker id is held")
	// ErrClockBehind is returned while the host's clock is behind the last use of a worker id by
	// more than Config.MaxBehind plus the lease's MaxTTL.
	ErrClockBehind = errors.New("local: clock is behind the last use of the worker id")
)
