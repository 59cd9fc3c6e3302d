package lease

import (
	"context"
	"errors"
)

// ErrUnknown is returned by an Operator if nothing is on record for a namespace.
var ErrUnknown = errors.New("lease: nothing is on record for the namespace")

// An Operator lets people maintain namespaces; cmd/snowlease uses it. No method lends
// anything or lowers a mark. So none can cause duplicate ids, no matter who calls it or when.
// Each method may also return errors of the store.
type Operator interface {
	Lister

	// Incarnation returns the identity of the server that answers, which changes when
	// another server answers or the server restarts: see package lease. It is "" if the
	// center does not compare incarnations (durable: true). Errors: those of the store.
	Incarnation(ctx context.Context, namespace string) (string, error)

	// Record returns what is on record for the namespace as a whole. Errors:
	// ErrUnknown.
	Record(ctx context.Context, namespace string) (Record, error)

	// Quarantine starts or extends a quarantine of the pinned MaxTTL + Skew, as if records
	// were missing, and returns the new Record. Call it after restoring a store from a
	// backup: the store lacks the grants made since and may not look changed. Holders on
	// record keep renewing. reason is for people. Errors: ErrUnknown, and one for a retired
	// namespace.
	Quarantine(ctx context.Context, namespace, reason string) (Record, error)

	// Revoke takes a worker id from its holder, as if the holder had used its whole range
	// and given the worker id back. The mark stays, and the next range starts above it. The
	// holder's next renewal returns ErrLost. Errors: ErrLost if nobody holds the worker id
	// under this token.
	Revoke(ctx context.Context, namespace string, worker, token int64) error

	// Retire ends a namespace for good, after its members have stopped and others use its
	// worker ids. It replaces the pin with a Retired one and leaves all other records. A
	// process that still has the former configuration, such as one of a deployment rolled
	// back, gets a MismatchError with the reason. A holder gets it at its next renewal and
	// uses up its range. A second call does nothing. Errors: ErrUnknown.
	Retire(ctx context.Context, namespace, reason string) error
}

// A Record is what a center has on record for a namespace as a whole. Times are Unix
// milliseconds of the center's clock.
type Record struct {
	Pin         Pin    // Pin.Err may return an error
	Incarnation string // of the store that lends
	Former      string // the incarnation before
	Quarantine  int64  // nothing is lent at or below it
	Reason      string // of the last quarantine
	Now         int64  // when this was read
}

// Quarantined reports whether the quarantine had not ended when r was read.
func (r Record) Quarantined() bool { return r.Quarantine >= r.Now }
