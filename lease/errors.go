package lease

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/snowlease/snowlease/internal/printable"
)

var (
	// ErrLost is returned if a grant has expired or its worker id was leased to another owner. The
	// holder may use up the grant to its ceiling, but cannot renew it.
	ErrLost = errors.New("lease: lost: it expired, or the store has no record of it for this process")
	// ErrSetup is wrapped by errors of a center that cannot lease because of its setup, such as
	// missing rights or a wrong password. A start then fails immediately instead of retrying. A
	// process that has already started retries.
	ErrSetup = errors.New("lease: retrying does not help until the setup is changed")
	// ErrExists is returned by Extras.Init if the center has any record of the namespace.
	ErrExists = errors.New("lease: the namespace exists already")
	// ErrDamaged is returned if a record of the store holds a value that no center writes. The
	// center then leases nothing: a damaged record never counts as empty. The error names the record
	// and a remedy. Stores of package segment return it too.
	ErrDamaged = errors.New("lease: a record is damaged")
)

// hint returns advice if wait is longer than any MaxTTL and skew, or "".
func hint(wait time.Duration) string {
	if wait <= 36*time.Hour {
		return ""
	}
	return "; no process can have written such a late time: see Late times in docs/operations.md"
}

// NoFreeWorkerError is returned if every requested worker id is in use.
type NoFreeWorkerError struct {
	Namespace   string
	First, Last int64     // the requested worker ids
	Now         time.Time // the center's clock
	Soonest     time.Time // when the first of them becomes free unless its holder renews it
}

// Error returns the range, the time when the first worker id may become free, and a remedy.
func (e *NoFreeWorkerError) Error() string {
	return fmt.Sprintf("lease: no free worker id: all %d (%d to %d) of namespace %q are lent; the first expires in %v (at %s) unless it is renewed: run fewer replicas, or give them a wider range or a layout with more worker bits%s",
		e.Last-e.First+1, e.First, e.Last, e.Namespace, e.Wait(), e.Soonest.UTC().Format(time.RFC3339), hint(e.Wait()))
}

// Wait returns how long after the center's answer the first worker id may become free.
func (e *NoFreeWorkerError) Wait() time.Duration { return max(0, e.Soonest.Sub(e.Now)) }

// NothingOnRecord is the Reason of a quarantine that begins without any record of the namespace:
// either the namespace is new, or the store was wiped.
const NothingOnRecord = "nothing is on record for this namespace"

// QuarantineError is returned while a center that may have lost grants leases nothing. The
// quarantine takes MaxTTL + Skew - Request.MaxLead: by default, Skew plus a quarter of a second.
type QuarantineError struct {
	Namespace string
	Reason    string    // the cause, such as NothingOnRecord or the incarnation that changed
	Now       time.Time // the center's clock
	Until     time.Time // when the center leases again
}

// Error returns the reason and the end of the quarantine.
func (e *QuarantineError) Error() string {
	return fmt.Sprintf("lease: namespace %q is in quarantine for %v (until %s): %s; earlier grants may still be in use%s",
		e.Namespace, e.Wait().Round(time.Millisecond), e.Until.UTC().Format(time.RFC3339), printable.Reason(e.Reason), hint(e.Wait()))
}

// Wait returns how long after the center's answer the quarantine ends.
func (e *QuarantineError) Wait() time.Duration { return max(0, e.Until.Sub(e.Now)) }

// MismatchError is returned to a member that may not join the namespace (see Pin.Join), to every
// member of a retired namespace, and to a holder whose grant needs more than the namespace allows
// for: the namespace was created again after a total loss, or the grant has ended.
type MismatchError struct {
	Namespace     string
	Stored, Asked Pin // of the namespace and of the caller
	// Change describes how to change the pin. It is empty if only another namespace helps.
	Change string
}

// Error returns the difference and a remedy, or the reason why the namespace was retired.
func (e *MismatchError) Error() string {
	if e.Stored.Retired {
		return fmt.Sprintf("lease: namespace %q is %s: give this process the configuration that replaces it", e.Namespace, printable.Text(e.Stored.String()))
	}
	if is, was := e.Asked, e.Stored; was.Err() == nil && is.Layout == was.Layout && is.Pool == was.Pool {
		return fmt.Sprintf("lease: namespace %q allows for less (MaxTTL or lease.max_ttl %v, Skew or store.skew %v) than the grant of this process needs (%v, %v): the grant has ended, or the namespace lost its records and was opened again", e.Namespace, was.MaxTTL, was.Skew, is.MaxTTL, is.Skew)
	}
	change := ""
	if e.Change != "" {
		change = "; " + e.Change
	}
	was := e.Stored
	if was.Err() == nil && e.Asked.Err() == nil { // only the layout and the pool must agree
		was.MaxTTL, was.Skew, was.Change = e.Asked.MaxTTL, e.Asked.Skew, e.Asked.Change
	}
	stored, asked := differences(was.String(), e.Asked.String())
	return fmt.Sprintf("lease: namespace %q is pinned to %s, but this process asks for %s: give all members the same configuration, or this process another namespace%s",
		e.Namespace, printable.Text(stored), asked, change)
}

var setting = regexp.MustCompile(`(\w+)=(?:\{[^}]*\}|\S+)`)

// differences returns the settings that differ between two pins, or both pins whole if they do
// not have the same settings.
func differences(stored, asked string) (a, b string) {
	stored, asked = stored[:min(len(stored), maxPin)], asked[:min(len(asked), maxPin)]
	was, is := setting.FindAllStringSubmatch(stored, -1), setting.FindAllStringSubmatch(asked, -1)
	for i := range was {
		switch {
		case len(was) != len(is) || was[i][1] != is[i][1]:
			return stored, asked
		case was[i][0] != is[i][0]:
			a, b = a+" "+was[i][0], b+" "+is[i][0]
			if is[i][1] == "pool" {
				b += " (the worker ids of the layout less reserved)"
			}
		}
	}
	if a == "" {
		return stored, asked
	}
	return a[1:], b[1:]
}

// ClockError is returned if the center's clock and the caller's differ by more than
// MaxClockError. The center has then written nothing.
type ClockError struct {
	Namespace     string
	Center, Local time.Time
}

// Error returns both clocks.
func (e *ClockError) Error() string {
	return fmt.Sprintf("lease: namespace %q: the center's clock (%s) and this host's (%s) differ by %v, more than %v: correct the wrong clock (NTP)",
		e.Namespace, e.Center.UTC().Format(time.RFC3339), e.Local.UTC().Format(time.RFC3339), e.Center.Sub(e.Local).Abs(), MaxClockError)
}
