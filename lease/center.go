package lease

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Center lends the worker ids of namespaces. It is safe for concurrent use and
// keeps no state of holders in memory: a Grant carries all it needs.
//
// Each method is one attempt. It returns an error as soon as the context ends,
// and an error other than those named says that the outcome is unknown: the call
// can be repeated with the same arguments.
//
// A Center may also be a Lister or an Operator, an Initializer and a fmt.Stringer,
// which names the store in logs and errors and must not show a secret.
type Center interface {
	// Acquire lends a free worker id of req.First..req.Last to req.Owner. The same
	// owner asking again gets the same worker, token, floor and ceiling.
	//
	// Errors: *NoFreeWorkerError, *QuarantineError, *MismatchError, *ClockError;
	// ErrSetup where no repetition can succeed.
	Acquire(ctx context.Context, req Request) (Grant, error)

	// Renew raises the ceiling of g to at least TTL from the center's now and
	// returns g with Now and Ceiling renewed. Where grants may have been forgotten
	// since, it lends g's worker id anew instead, above all of them: Floor and Token
	// have risen too, and what was left of g stays its holder's.
	//
	// Errors: ErrLost is final; *QuarantineError and anything else: try again,
	// the ceiling that g has stands.
	Renew(ctx context.Context, g Grant) (Grant, error)

	// Release gives g back. lastUsed is the last millisecond that g's holder put
	// into an id; the holder must have stopped for good. The mark of the worker
	// becomes lastUsed, held within g's floor and ceiling, and its slot is free at
	// once.
	//
	// Errors: ErrLost, which counts as done: g was no longer g's to give back.
	Release(ctx context.Context, g Grant, lastUsed int64) error
}

// A Lister shows the slots of a namespace, ordered by worker id.
type Lister interface {
	Slots(ctx context.Context, namespace string) ([]Slot, error)
}

// An Initializer opens a namespace that its owner knows to be new, so that nothing can
// have been forgotten and times are exact from the first id on. It returns ErrExists and changes nothing
// where anything of the namespace is there already.
type Initializer interface {
	Init(ctx context.Context, req Request) error
}

// Request asks for a worker id.
type Request struct {
	// Namespace is what shares one pool of worker ids: the replicas of a service.
	// 1 to 64 characters of A-Z a-z 0-9 . _ -
	Namespace string
	// Layout is the fingerprint of the id layout. The center pins it.
	Layout string
	// Holder says who asks, for people to read: app, host, pid.
	// At most 255 bytes.
	Holder string
	// Owner is a random nonce, new for every borrow: see NewOwner.
	Owner [16]byte
	// Pool is the number of worker ids in the namespace, 0..Pool-1. The center
	// pins it.
	Pool int64
	// First and Last bound the worker ids that may be lent for this request.
	First, Last int64
	// TTL is how long a grant lasts without renewal. At most MaxTTL.
	TTL time.Duration
	// MaxTTL bounds the TTL of every member of the namespace, and so how far ahead of
	// its clock a center may have lent what it has forgotten. The center pins it.
	MaxTTL time.Duration
	// Skew bounds how far the center's clock may be behind the latest time that it ever
	// showed when it loses records. The center pins it.
	Skew time.Duration
	// Ahead is how far ahead of the center's clock a range may begin, where a loss of
	// records leaves none that begins sooner. At most MaxTTL. 0: times are exact, and
	// nothing is lent until the clock has passed what may have been forgotten.
	Ahead time.Duration
	// Local is the caller's wall clock in Unix milliseconds at the time of the
	// call. It may veto a grant (see MaxClockError), never shape one. 0: no veto.
	Local int64
}

// MaxClockError is how far the center's clock and the caller's may differ when a
// worker id is borrowed. A clock that is far ahead would poison the marks. Renewals are
// not compared, so that a step of the holder's clock cannot end its ids.
const MaxClockError = 5 * time.Minute

// Defaults of a Request.
const (
	DefaultTTL  = 30 * time.Second
	DefaultSkew = 2 * time.Second
)

// Pin is what all members of a namespace must agree on, in the form that centers
// store and compare.
func (r Request) Pin() string {
	return fmt.Sprintf("layout={%s} pool=%d max_ttl=%v skew=%v", r.Layout, r.Pool, r.MaxTTL, r.Skew)
}

// Limits of a Request.
const (
	MaxNamespace = 64
	MaxHolder    = 255
	MaxPool      = 1 << 20
	// MinTTL is the shortest TTL. Less than some seconds is for tests only.
	MinTTL = 100 * time.Millisecond
)

// Validate reports every fault of r in one error, or nil. Centers call it first.
func (r Request) Validate() error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf("lease: request: "+format, args...)) }
	if err := CheckNamespace(r.Namespace); err != nil {
		errs = append(errs, err)
	}
	if r.Layout == "" || len(r.Layout) > 128 {
		fault("layout %q is not 1 to 128 bytes: give the layout's fingerprint", r.Layout)
	}
	if len(r.Holder) > MaxHolder {
		fault("holder has %d bytes, more than %d", len(r.Holder), MaxHolder)
	}
	if r.Owner == [16]byte{} {
		fault("owner is zero: give a random nonce for each borrow (NewOwner)")
	}
	if r.Pool < 1 || r.Pool > MaxPool {
		fault("pool %d is not 1 to %d", r.Pool, MaxPool)
	}
	if r.First < 0 || r.Last < r.First || r.Last >= r.Pool {
		fault("workers %d to %d do not lie within the pool's 0 to %d", r.First, r.Last, r.Pool-1)
	}
	if r.TTL < MinTTL {
		fault("TTL %v is below %v", r.TTL, MinTTL)
	}
	if r.TTL > r.MaxTTL {
		fault("TTL %v is above MaxTTL %v", r.TTL, r.MaxTTL)
	}
	if r.MaxTTL > 24*time.Hour {
		fault("MaxTTL %v is above 24h", r.MaxTTL)
	}
	if r.Skew < 0 || r.Skew*2 > r.TTL {
		fault("skew %v is not 0 to half of the TTL %v", r.Skew, r.TTL)
	}
	if r.Ahead < 0 || r.Ahead > r.MaxTTL {
		fault("ahead %v is not 0 to MaxTTL %v", r.Ahead, r.MaxTTL)
	}
	for _, d := range []time.Duration{r.TTL, r.MaxTTL, r.Skew, r.Ahead} {
		if d%time.Millisecond != 0 {
			fault("duration %v is not a whole number of milliseconds", d)
		}
	}
	return errors.Join(errs...)
}

// CheckNamespace returns an error unless ns is 1 to 64 characters of
// A-Z a-z 0-9 . _ -
func CheckNamespace(ns string) error {
	ok := ns != "" && len(ns) <= MaxNamespace
	for i := 0; i < len(ns) && ok; i++ {
		c := ns[i]
		ok = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
	}
	if !ok {
		return fmt.Errorf("lease: namespace %q is not 1 to %d characters of A-Z a-z 0-9 . _ -", ns, MaxNamespace)
	}
	return nil
}

// A Grant lends a worker id for ids whose time lies in (Floor, Ceiling]. No two
// grants of one worker have a millisecond in common, so its holder may use it up
// whenever it likes: late, after a pause, after a loss. Times are Unix
// milliseconds of the center's clock.
type Grant struct {
	Request
	Worker  int64
	Token   int64 // fences renewals and releases of this slot; rises with every grant of it
	Now     int64 // the center's clock when it answered
	Floor   int64 // every id lies above it
	Ceiling int64 // no id lies above it
	Since   int64 // when the worker id was borrowed
}

// A Slot is what the center knows of one worker id. Times are Unix milliseconds of
// the center's clock.
type Slot struct {
	Worker  int64
	Token   int64
	Holder  string // empty: never lent, or given back
	Since   int64  // when the holder borrowed it; 0 with an empty Holder
	Expires int64  // when the lease ends; 0 or in the past: free
	Mark    int64  // no id of this worker lies above it
	Now     int64  // when this was read
}

// Free reports whether the slot could be lent at the time it was read.
func (s Slot) Free() bool { return s.Expires < s.Now && s.Mark < s.Now }

// Name returns what a center calls itself, for logs and errors.
func Name(c Center) string {
	if s, ok := c.(fmt.Stringer); ok {
		return s.String()
	}
	return fmt.Sprintf("%T", c)
}
