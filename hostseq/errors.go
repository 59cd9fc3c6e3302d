package hostseq

import "errors"

// Why a worker id cannot be had. Test for them with errors.Is.
var (
	// ErrHeld is returned while another process that shares the directory holds the
	// worker id that this one is set up for.
	ErrHeld = errors.New("local: worker id is held")
	// ErrClockBehind is returned while the clock of the host is further behind the
	// last use of a worker id than Config.MaxBehind.
	ErrClockBehind = errors.New("local: clock is behind the last use of the worker id")
	// ErrDamaged is returned where the record of a worker id cannot be read. It is
	// never taken for an empty one.
	ErrDamaged = errors.New("local: record is damaged")
)

// errNotHere is wrapped by the reason why a source is not there on this host: the next
// one is asked.
var errNotHere = errors.New("not here")
