package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/internal/printable"
)

// A Center lends the worker ids of namespaces. It is safe for concurrent use and keeps no
// state of holders in memory: a Grant carries everything it needs.
//
// Each method is a single attempt. It must return soon after the context ends, with an error:
// Close and Reset of a worker wait for it. Without a deadline, the centers of this
// module give a call one minute. After an error that is not documented here,
// the outcome is unknown: repeat the call with the same arguments.
//
// A decorator that embeds a Center keeps its Extras.
type Center interface {
	// Acquire lends a free worker id of req.First..req.Last to req.Owner. If the same owner
	// asks again, it gets the same worker, token, floor and ceiling, or if a quarantine has
	// begun since, another grant above it. To give up a call without an answer, ask again, and
	// Release the grant.
	//
	// Errors: *NoFreeWorkerError, *QuarantineError, *MismatchError, *ClockError; ErrDamaged;
	// ErrSetup if trying again cannot succeed; ErrLost for a call that arrives after its owner gave
	// the grant back.
	Acquire(ctx context.Context, req Request) (Grant, error)

	// Renew raises the ceiling of g to at least TTL from the center's now and returns g with
	// the new Now and Ceiling. If the center has noticed that grants may have been forgotten
	// since g was lent, Renew lends g's worker id again, above all of them: Floor and Token
	// rise too. The holder may still use up the rest of g.
	//
	// Errors: ErrLost is final. After *QuarantineError or any other error, g stays valid to
	// its ceiling: try again.
	Renew(ctx context.Context, g Grant) (Grant, error)

	// Release gives g back. The holder must have stopped issuing ids of g for good. lastUsed
	// is the last millisecond that it put into an id. The mark of the worker becomes lastUsed,
	// clamped to g's floor and ceiling, and its slot is free at once.
	//
	// Errors: ErrLost, if g was already lost. It counts as success.
	Release(ctx context.Context, g Grant, lastUsed int64) error

	// Extras returns what the center offers besides lending. The result is always the same.
	// It does no I/O.
	Extras() Extras

	// Close frees what the center opened, if anything. It gives no worker id back: close the
	// workers first.
	Close() error
}

// Extras are what a center offers besides lending. All fields are optional.
type Extras struct {
	// Name names the store in logs and errors. It must not contain secrets. Default: the
	// type of the center.
	Name string
	// Warnings are dangers to the leases. A start logs them.
	Warnings []string
	// Uniqueness says in one line how far worker ids are unique, if that depends on the host:
	// see package hostseq.
	Uniqueness string
	// Lister lists the slots, and Operator maintains namespaces.
	Lister   Lister
	Operator Operator
	// Init creates a namespace that its owner knows to be new: see snowlease.Init. If anything
	// of the namespace exists, it changes nothing and returns ErrExists.
	Init func(ctx context.Context, req Request) error
	// Examine checks the store, its server and what the account may do, for "snowlease doctor".
	// It changes nothing. It returns an error only for an invalid namespace.
	Examine func(ctx context.Context, namespace string) ([]Finding, error)
	// Base is the center below its decorators. Other packages look there for methods that this
	// one does not know, such as the Past of dbseq, which counts backdated ids.
	Base any
}

// A Lister lists the slots of a namespace, ordered by worker id.
type Lister interface {
	Slots(ctx context.Context, namespace string) ([]Slot, error)
}

// Request asks for a worker id. It fills in no defaults. Durations are whole
// milliseconds.
type Request struct {
	// Namespace names the service whose replicas share one pool of worker ids: 1 to 64
	// characters of A-Z a-z 0-9 . _ -
	Namespace string
	// Layout is the fingerprint of the id layout, snowflake.Layout.String: 1 to 128 bytes.
	// The center pins it.
	Layout string
	// Holder tells people who asks: app, host, pid. At most MaxHolder bytes.
	Holder string
	// Owner is the borrow. Not zero.
	Owner Owner
	// Pool is the number of worker ids in the namespace, 1 to MaxPool. They are 0 to Pool-1.
	// The center pins it.
	Pool int64
	// First and Last bound the worker ids that may be lent for this request, within the
	// pool.
	First, Last int64
	// TTL is how long a grant lasts without renewal, MinTTL to MaxTTL.
	TTL time.Duration
	// MaxTTL is how far ahead of its clock the center lends to this member, and how far ahead a
	// forgotten grant can then reach. At most 24h. The center pins the greatest of any member, and
	// grants of all keep to that: see Pin.
	MaxTTL time.Duration
	// Skew is how far behind the latest time it ever showed the center's clock may be when
	// the center loses records. At most half of TTL. The center pins the greatest.
	Skew time.Duration
	// MaxLead is how far ahead of the center's clock a range may begin after a loss of
	// records. At most MaxTTL. With 0, times are exact: nothing is lent until the clock has
	// passed everything that may have been forgotten.
	MaxLead time.Duration
	// CallerTime is the caller's wall clock in Unix milliseconds at the time of the call. The
	// center may refuse a grant because of it (see MaxClockError), but never computes with
	// it. 0 disables the check.
	CallerTime int64
}

// MaxClockError is how far the center's clock and the caller's may differ when a worker id
// is borrowed. A clock far ahead would write marks that lock worker ids for a long time.
// Renewals are not checked, so that a step of the holder's clock cannot stop its ids.
const MaxClockError = 5 * time.Minute

// Defaults of a Request.
const (
	DefaultTTL  = 30 * time.Second
	DefaultSkew = 2 * time.Second
)

// Pin returns the pin of a namespace that has r as its only member.
func (r Request) Pin() Pin {
	return Pin{Layout: r.Layout, Pool: r.Pool, MaxTTL: r.MaxTTL, Skew: r.Skew}
}

// Limits of a Request.
const (
	MaxNamespace = 64  // characters
	MaxHolder    = 255 // bytes
	MaxPool      = 1 << 20
	// MinTTL is the shortest TTL. A TTL below a few seconds is for tests only.
	MinTTL = 100 * time.Millisecond
)

// Validate returns all faults of r joined in one error. Centers call it first.
func (r Request) Validate() error {
	f := fault.Texts{In: "lease: request: "}
	f.Check(r.Layout == "" || len(r.Layout) > 128, "layout %q is not 1 to 128 bytes long: give the layout's fingerprint", r.Layout)
	f.Check(len(r.Holder) > MaxHolder, "holder has %d bytes, more than %d", len(r.Holder), MaxHolder)
	f.Check(r.Owner == [16]byte{}, "owner is zero: give a random nonce for each borrow (NewOwner)")
	f.Check(r.Pool < 1 || r.Pool > MaxPool, "pool %d is not 1 to %d", r.Pool, MaxPool)
	f.Check(r.First < 0 || r.Last < r.First || r.Last >= r.Pool, "workers %d to %d do not lie within the pool's 0 to %d", r.First, r.Last, r.Pool-1)
	f.Check(r.TTL < MinTTL, "TTL %v is below %v", r.TTL, MinTTL)
	f.Check(r.TTL > r.MaxTTL, "TTL %v is above MaxTTL %v", r.TTL, r.MaxTTL)
	f.Check(r.MaxTTL > 24*time.Hour, "MaxTTL %v is above 24h", r.MaxTTL)
	f.Check(r.Skew < 0 || r.Skew*2 > r.TTL, "skew %v is not 0 to half of the TTL %v", r.Skew, r.TTL)
	f.Check(r.MaxLead < 0 || r.MaxLead > r.MaxTTL, "max lead %v is not 0 to MaxTTL %v", r.MaxLead, r.MaxTTL)
	for _, d := range []time.Duration{r.TTL, r.MaxTTL, r.Skew, r.MaxLead} {
		f.Check(d%time.Millisecond != 0, "duration %v is not a whole number of milliseconds", d)
	}
	return errors.Join(CheckNamespace(r.Namespace), f.Err())
}

// CheckNamespace returns an error unless ns is 1 to 64 characters of
// A-Z a-z 0-9 . _ -
func CheckNamespace(ns string) error {
	if ns == "" || len(ns) > MaxNamespace || strings.Trim(ns, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") != "" {
		return fmt.Errorf("lease: namespace %s is not 1 to %d characters of A-Z a-z 0-9 . _ -", printable.Quote(ns), MaxNamespace)
	}
	return nil
}

// A Grant lends a worker id for ids whose time is in (Floor, Ceiling]. No two grants of one
// worker id share a millisecond. So the holder may use up its grant at any time: late, after
// a pause, or after it lost the lease. Times are Unix milliseconds of the center's clock.
type Grant struct {
	Request
	Worker  int64
	Token   int64 // fences renewals and releases of this slot; rises with every grant
	Now     int64 // the center's clock when it answered
	Floor   int64 // all ids are above it
	Ceiling int64 // no id is above it
	Since   int64 // when the worker id was borrowed
	Pinned  Pin   // what the namespace has on record; zero if the center does not tell
}

// A Slot is what the center has on record for one worker id. Times are Unix milliseconds of
// the center's clock.
type Slot struct {
	Worker    int64
	Token     int64
	Holder    string // empty: never lent, or given back
	Since     int64  // when the holder borrowed it; 0 with an empty Holder
	Expires   int64  // when the lease ends; 0 or in the past: nobody holds it; see Free
	HighWater int64  // no id of this worker is above it
	Now       int64  // when this was read
}

// Free reports whether the slot could be lent when it was read.
func (s Slot) Free() bool { return s.Expires < s.Now && s.HighWater < s.Now }

// Name returns the Extras.Name of c, or its type if that is empty.
func Name(c Center) string { return cmp.Or(c.Extras().Name, fmt.Sprintf("%T", c)) }
