package lease

import (
	"context"
	"errors"
)

// ErrUnknown is returned by an Operator if the center has no record of a namespace.
var ErrUnknown = errors.New("lease: nothing is on record for the namespace")

// An Operator lets people maintain namespaces; cmd/snowlease uses it. No method leases a worker
// id or lowers a mark, so none can cause duplicate ids, whenever it is called. One exception: a
// store restored from before a raise of MaxTTL knows only the lower value, and the first call to
// it, also one of these, begins a quarantine that may be too short. Each method may also return
// errors of the store.
type Operator interface {
	Lister

	// Incarnation returns the identity of the server that answers. It changes when another server
	// answers or the server restarts: see package lease. It is "" if the center does not compare
	// incarnations (durable: true). Errors: only errors of the store.
	Incarnation(ctx context.Context, namespace string) (string, error)

	// Record returns the record of the namespace as a whole. Errors: ErrUnknown.
	Record(ctx context.Context, namespace string) (Record, error)

	// Quarantine starts or extends a quarantine of the pinned MaxTTL + Skew, as if records were
	// missing, and returns the new Record. Call it after restoring a store from a backup: the
	// restored store lacks the grants made since and may look unchanged. Holders that are recorded
	// keep renewing. reason is for people. Errors: ErrUnknown, and an error for a retired namespace.
	Quarantine(ctx context.Context, namespace, reason string) (Record, error)

	// Revoke takes a worker id from its holder, as if the holder had used its whole range and
	// released the worker id. The mark stays, and the next range starts above it. The holder's next
	// renewal returns ErrLost. Errors: ErrLost if nobody holds the worker id with this token.
	Revoke(ctx context.Context, namespace string, worker, token int64) error

	// Retire ends a namespace for good, after its members have stopped and others use its worker
	// ids. It replaces the pin with a Retired one and leaves all other records. A process with the
	// earlier configuration, such as one of a deployment that was rolled back, gets a MismatchError
	// with the reason. A holder gets that error at its next renewal and uses up its range. A second
	// call does nothing. Errors: ErrUnknown, and *QuarantineError if the call notices a loss of
	// records: it then begins a quarantine, and retires nothing until it is called again.
	Retire(ctx context.Context, namespace, reason string) error
}

// A Record is a center's record of a namespace as a whole. Times are Unix milliseconds of the
// center's clock.
type Record struct {
	Pin         Pin    // Pin.Err may return an error
	Incarnation string // of the store that leases
	Former      string // the previous incarnation
	Quarantine  int64  // the center leases nothing at or below this time
	Reason      string // of the last quarantine
	Now         int64  // when the center read the record
}

// Quarantined reports whether the quarantine was still in force when the center read r.
func (r Record) Quarantined() bool { return r.Quarantine >= r.Now }
