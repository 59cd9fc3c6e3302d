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

// A Center leases the worker ids of namespaces. It is safe for concurrent use and keeps no state
// of holders in memory: a Grant carries everything that the center needs.
//
// Each method makes a single attempt. It must return an error soon after the context ends,
// because Close and Reset of a worker wait for it. If the context has no deadline, the centers of
// this module end a call after one minute. After an error that is not documented here, the
// outcome is unknown: repeat the call with the same arguments.
//
// A decorator that embeds a Center keeps its Extras.
type Center interface {
	// Acquire leases a free worker id in req.First..req.Last to req.Owner. If the same owner asks
	// again, Acquire returns the same worker, token, floor and ceiling, or, if a quarantine has
	// begun since, another grant above the quarantine. To abandon a call whose answer was lost, call
	// Acquire again and Release the grant.
	//
	// Errors: *NoFreeWorkerError, *QuarantineError, *MismatchError, *ClockError; ErrDamaged;
	// ErrSetup if trying again cannot succeed; ErrLost for a call that arrives after its owner
	// released the grant.
	Acquire(ctx context.Context, req Request) (Grant, error)

	// Renew raises the ceiling of g to at least TTL from the center's current time and returns g
	// with the new Now and Ceiling. If the center has detected, since it granted g, that it may have
	// forgotten grants, Renew leases g's worker id again, above all of them: Floor and Token rise
	// too. The holder may still use up the rest of g.
	//
	// Errors: ErrLost is final. After *QuarantineError or any other error, g stays valid up to its
	// ceiling: try again.
	Renew(ctx context.Context, g Grant) (Grant, error)

	// Release ends the lease of g. The holder must have stopped issuing ids of g for good. lastUsed
	// is the latest millisecond that the holder put into an id. The mark of the worker becomes
	// lastUsed, clamped to g's floor and ceiling, and the worker id is free immediately.
	//
	// Errors: ErrLost if g was already lost, which counts as success.
	Release(ctx context.Context, g Grant, lastUsed int64) error

	// Extras returns what the center offers besides leases. Every call returns the same value and
	// does no I/O.
	Extras() Extras

	// Close frees the resources that the center opened, if any. It releases no worker ids: close the
	// workers first.
	Close() error
}

// Extras are what a center offers besides leases. All fields are optional.
type Extras struct {
	// Name names the store in logs and errors. It must not contain secrets. Default: the
	// type of the center.
	Name string
	// Warnings are dangers to the leases. A worker logs them when it starts.
	Warnings []string
	// Uniqueness describes in one line how far worker ids are unique, if that depends on the host:
	// see package hostseq.
	Uniqueness string
	// Lister lists the slots, and Operator maintains namespaces.
	Lister   Lister
	Operator Operator
	// Init creates a namespace that is known to be new: see snowlease.Init. If the center has any
	// record of the namespace, Init changes nothing and returns ErrExists.
	Init func(ctx context.Context, req Request) error
	// Examine checks the store, its server and the account's rights, for "snowlease doctor". It
	// changes nothing. It returns an error only for an invalid namespace.
	Examine func(ctx context.Context, namespace string) ([]Finding, error)
	// Base is the center below its decorators. Other packages look there for methods that this
	// package does not define, such as Past of a center of dbseq, which counts backdated ids.
	Base any
}

// A Lister lists the slots of a namespace, ordered by worker id.
type Lister interface {
	Slots(ctx context.Context, namespace string) ([]Slot, error)
}

// A Request asks for a worker id. It has no defaults: set every field. Durations are whole
// milliseconds.
type Request struct {
	// Namespace names the service whose replicas share one pool of worker ids: 1 to 64
	// characters of A-Z a-z 0-9 . _ -
	Namespace string
	// Layout is the fingerprint of the id layout (snowflake.Layout.String): 1 to 128 bytes. The
	// center pins it.
	Layout string
	// Holder describes the caller to people: program, host, pid. At most MaxHolder bytes.
	Holder string
	// Owner identifies one borrow. It must not be zero.
	Owner Owner
	// Pool is the number of worker ids in the namespace, 1 to MaxPool. The ids are 0 to Pool-1. The
	// center pins it.
	Pool int64
	// First and Last bound the worker ids that the center may lease for this request. They lie
	// within the pool.
	First, Last int64
	// TTL is how long a grant lasts without renewal: MinTTL to MaxTTL. If Skew is less than the pin's,
	// a grant lasts longer by the difference, within the pin's MaxTTL.
	TTL time.Duration
	// MaxTTL is how far ahead of its clock the center may set a ceiling for this member, and so how
	// far ahead a forgotten grant can reach. At most 24h. The center pins the greatest MaxTTL of all
	// members, and every grant keeps to it: see Pin.
	MaxTTL time.Duration
	// Skew bounds how far the center's clock may have gone backward when the center loses records:
	// how far it is behind the latest time that it ever showed. At most half of TTL. The center pins
	// the greatest.
	Skew time.Duration
	// MaxLead is how far ahead of the center's clock a range may begin after a loss of records. At
	// most MaxTTL. If it is 0, times are exact: the center leases nothing until its clock has passed
	// every range that it may have forgotten.
	MaxLead time.Duration
	// CallerTime is the caller's wall clock in Unix milliseconds at the time of the call. The
	// center may refuse a grant because of it (see MaxClockError), but never computes with
	// it. 0 disables the check.
	CallerTime int64
}

// MaxClockError is how far the center's clock and the caller's may differ when a worker id is
// borrowed. A clock far ahead would write marks that lock worker ids for a long time. Renewals
// are not checked, so a step of the holder's clock cannot stop its ids.
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

// Validate returns an error that joins all problems of r, or nil. Centers call it first.
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

// A Grant leases a worker id for ids whose time is in (Floor, Ceiling]. No two grants of one
// worker id share a millisecond, so a holder may use up its grant at any time: late, after a
// pause, or after losing the lease. Times are Unix milliseconds of the center's clock.
type Grant struct {
	Request
	Worker  int64
	Token   int64 // fences renewals and releases of this slot; rises with every grant
	Now     int64 // the center's clock when it answered
	Floor   int64 // the times of ids are later than Floor
	Ceiling int64 // and no later than Ceiling
	Since   int64 // when the worker id was borrowed
	Pinned  Pin   // the recorded pin of the namespace; zero if the center does not report it
}

// A Slot is the center's record of one worker id. Times are Unix milliseconds of the center's
// clock.
type Slot struct {
	Worker    int64
	Token     int64
	Holder    string // empty if the worker id was never leased, or was released
	Since     int64  // when the holder borrowed the worker id; 0 if Holder is empty
	Expires   int64  // when the lease ends; 0 or in the past if nobody holds it: see Free
	HighWater int64  // no id of this worker has a later time
	Now       int64  // when the center read the slot
}

// Free reports whether the worker id could be leased when the slot was read.
func (s Slot) Free() bool { return s.Expires < s.Now && s.HighWater < s.Now }

// Name returns the Extras.Name of c, or the type of c if that is empty.
func Name(c Center) string { return cmp.Or(c.Extras().Name, fmt.Sprintf("%T", c)) }
