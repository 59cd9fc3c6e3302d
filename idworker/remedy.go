package idworker

import (
	"errors"
	"time"

	"github.com/snowlease/snowlease/lease"
)

// late is longer than any process can have taken a worker id for.
const late = 36 * time.Hour

// localRemedy is remedy in mode local, of which the command knows nothing.
func localRemedy(err error) string {
	if full := (*lease.NoFreeWorkerError)(nil); errors.As(err, &full) && full.Wait() <= late {
		return `, widen "workers" if it is set; processes of this host have them`
	}
	return ""
}

// remedy names the command that helps with an error of a start.
func remedy(err error) string {
	full, q := (*lease.NoFreeWorkerError)(nil), (*lease.QuarantineError)(nil)
	switch {
	case errors.As(err, &full) && full.Wait() > late, errors.As(err, &q) && q.Wait() > late:
		return `: run "snowlease doctor"`
	case errors.As(err, &full):
		return `, widen "workers" if it is set; "snowlease workers" lists the holders`
	}
	return ""
}
