package lease

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/snowlease/snowlease/internal/printable"
)

// ErrUnknown is returned by an Operator where nothing is on record for a namespace.
var ErrUnknown = errors.New("lease: nothing is on record for the namespace")

// An Operator looks after namespaces on behalf of people: cmd/snowlease stands on it. No
// verb of it lends anything, and none but Mend lowers a mark, so no other can make an id
// come twice, whoever calls it when.
type Operator interface {
	Lister

	// Incarnation returns what names the server that answers now, to be compared
	// over time: see package documentation. Errors: as of Acquire where it cannot be
	// read; "" where the center does not look (quarantine: never).
	Incarnation(ctx context.Context, namespace string) (string, error)

	// Record returns what is on record for the namespace as a whole. Errors:
	// ErrUnknown.
	Record(ctx context.Context, namespace string) (Record, error)

	// Quarantine begins a quarantine of MaxTTL + Skew, as the namespace has pinned
	// them, or lengthens one, just as if records had been found missing: for a store
	// that was restored from a backup, which knows nothing of the grants since and may
	// not look changed. Holders on record go on renewing. reason is for people. It
	// returns the record afterwards. Errors: ErrUnknown.
	Quarantine(ctx context.Context, namespace, reason string) (Record, error)

	// Revoke takes a worker id from its holder, as if that had given it back with its
	// whole range used: the mark stays, and what is lent of the worker next lies above
	// it. The holder's next renewal is told ErrLost. Errors: ErrLost where nobody holds the worker under this token.
	Revoke(ctx context.Context, namespace string, worker, token int64) error

	// Mend lowers times that no member can have written, those later than MaxTTL + Skew
	// from the center's now, to just that time: the end of a quarantine, the end of each
	// lease, and the mark of each worker id whose lease has ended. Such a worker id is
	// lent above that time only, and its former holder is forgotten. Where a lease runs,
	// the mark stays: call Mend again when the lease has ended. Whatever is not so late
	// stays as it is.
	//
	// It is for a store that another program wrote to, or whose clock was ahead. Mend
	// cannot see two things, and can make ids come twice unless its caller knows that
	// neither exists: an id of a later time, and a process that has borrowed or renewed
	// such a worker id since and is cut off or paused.
	//
	// local is the caller's wall clock, as Request.Local. Errors: ErrUnknown, *ClockError.
	Mend(ctx context.Context, namespace string, local int64) error

	// Retire ends a namespace for good, when its members have stopped and others have
	// its worker ids: it is pinned to RetiredPin, so whoever comes with the former
	// configuration, such as that of a deployment that is rolled back, is refused by a
	// MismatchError that has the reason. A holder is told so at its next renewal and
	// uses up its range. What is on record stays. A second call does nothing. Errors:
	// ErrUnknown.
	Retire(ctx context.Context, namespace, reason string) error
}

const retired = "retired: "

// RetiredPin is what a retired namespace is pinned to: no Request has such a pin.
func RetiredPin(reason string) string { return retired + reason }

// Retired reports whether a pin is that of a retired namespace.
func Retired(pin string) bool { return strings.HasPrefix(pin, retired) }

// A Record is what a center has on record for a namespace as a whole. Times are Unix
// milliseconds of the center's clock.
type Record struct {
	Pin         string // Request.Pin of its members: see ParsePin
	Incarnation string // of the store that lends; Former is the one before
	Former      string
	Quarantine  int64  // nothing is lent at or below it
	Reason      string // of the last quarantine
	Now         int64  // when this was read
}

// Quarantined reports whether ranges were lent ahead of the clock when r was read.
func (r Record) Quarantined() bool { return r.Quarantine >= r.Now }

var pinForm = regexp.MustCompile(`^layout=\{(.*)\} pool=(\d+) max_ttl=(\S+) skew=(\S+)$`)

// ParsePin returns a Request with the Layout, Pool, MaxTTL and Skew of a pin.
func ParsePin(pin string) (Request, error) {
	var r Request
	if m := pinForm.FindStringSubmatch(pin); m != nil {
		var err1, err2, err3 error
		r.Layout = m[1]
		r.Pool, err1 = strconv.ParseInt(m[2], 10, 64)
		r.MaxTTL, err2 = time.ParseDuration(m[3])
		r.Skew, err3 = time.ParseDuration(m[4])
		if errors.Join(err1, err2, err3) == nil && r.Pin() == pin {
			return r, nil
		}
	}
	if Retired(pin) {
		return Request{}, fmt.Errorf("lease: the namespace is %s", printable.Text(pin))
	}
	return Request{}, fmt.Errorf("lease: %q is not what a namespace is pinned to: see whether the record is another program's", printable.Text(pin))
}
