package lease

import (
	"errors"
	"fmt"
	"time"

	"github.com/snowlease/snowlease/internal/printable"
)

var (
	// ErrLost is returned when a grant is no longer its holder's: it expired, or
	// another took the slot. The grant may be used up to its ceiling, not renewed.
	ErrLost = errors.New("lease: lost")
	// ErrSetup is wrapped by errors of a center that cannot lend as it is set up: a
	// start fails at once instead of trying again.
	ErrSetup = errors.New("lease: trying again does not help before the setup is changed")
	// ErrExists is returned by Init where something of the namespace is there.
	ErrExists = errors.New("lease: the namespace exists already")
)

// hint is what errors add where a time lies further ahead than any MaxTTL and skew.
func hint(wait time.Duration) string {
	if wait <= 36*time.Hour {
		return ""
	}
	return ". No process can have written so late a time: see \"snowlease doctor\""
}

// NoFreeWorkerError is returned when every worker id asked for is lent out.
type NoFreeWorkerError struct {
	Namespace   string
	First, Last int64     // the worker ids asked for
	Now         time.Time // the center's clock
	Soonest     time.Time // when the first of them is free unless its holder renews
}

// Error names the range, when the first worker id may become free and what to do.
func (e *NoFreeWorkerError) Error() string {
	return fmt.Sprintf("lease: no free worker id: all %d (%d to %d) of namespace %q are lent, the soonest expires in %v (at %s) unless it is renewed: run fewer replicas or choose a layout with more worker bits; \"snowlease workers\" lists the holders%s",
		e.Last-e.First+1, e.First, e.Last, e.Namespace, e.Wait(), e.Soonest.UTC().Format(time.RFC3339Nano), hint(e.Wait()))
}

// Wait returns how long after the center's answer the first worker id may be free.
func (e *NoFreeWorkerError) Wait() time.Duration { return max(0, e.Soonest.Sub(e.Now)) }

// QuarantineError is returned while a center that may have forgotten grants has
// nothing to lend: at the defaults, for the skew and a quarter of a second.
type QuarantineError struct {
	Namespace string
	Reason    string    // what was seen: which records are missing, which incarnation changed
	Now       time.Time // the center's clock
	Until     time.Time // when it lends again
}

// Error names the reason and the end.
func (e *QuarantineError) Error() string {
	return fmt.Sprintf("lease: namespace %q is in quarantine for %v (until %s): %s; earlier grants may still be in use%s",
		e.Namespace, e.Wait(), e.Until.UTC().Format(time.RFC3339Nano), printable.Text(e.Reason), hint(e.Wait()))
}

// Wait returns how long after the center's answer the quarantine ends.
func (e *QuarantineError) Wait() time.Duration { return max(0, e.Until.Sub(e.Now)) }

// MismatchError is returned when a member differs from what its namespace has
// pinned: layout, pool, MaxTTL or skew; and to every member of a namespace that was
// retired.
type MismatchError struct {
	Namespace     string
	Stored, Asked string // Request.Pin of the namespace, or RetiredPin, and of the caller
}

// Error shows both sides, or why the namespace was retired.
func (e *MismatchError) Error() string {
	if Retired(e.Stored) {
		return fmt.Sprintf("lease: namespace %q is %s: give this process the configuration of what has taken its place", e.Namespace, printable.Text(e.Stored))
	}
	return fmt.Sprintf("lease: namespace %q is pinned to %s, this process asks for %s: give all members of a namespace one configuration, or this one a namespace of its own",
		e.Namespace, printable.Text(e.Stored), e.Asked)
}

// ClockError is returned when the center's clock and the caller's are further
// apart than MaxClockError. Nothing was written.
type ClockError struct {
	Namespace     string
	Center, Local time.Time
}

// Error shows both clocks.
func (e *ClockError) Error() string {
	return fmt.Sprintf("lease: namespace %q: the center's clock (%s) and this host's (%s) differ by %v, more than %v: set the wrong one right (NTP)",
		e.Namespace, e.Center.UTC().Format(time.RFC3339Nano), e.Local.UTC().Format(time.RFC3339Nano), e.Center.Sub(e.Local).Abs(), MaxClockError)
}
