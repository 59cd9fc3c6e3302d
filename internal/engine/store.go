package engine

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/lease"
)

// A Store keeps the records of namespaces. It is safe for concurrent use. Its errors name the
// operation, the namespace and the store, as Wrap does, and may wrap errors of package lease.
type Store interface {
	// Load returns the records of a namespace, or the part of them that want needs, as they are at
	// one moment. Swap compares slots that were loaded at other moments, so they do no harm. Load
	// fails on a server that accepts no writes, unless want only shows records.
	Load(ctx context.Context, namespace string, want Want) (View, error)

	// Swap writes what differs between before and after, in one step, if the record of the
	// namespace and the slots that it writes are still what Load returned. Otherwise it changes
	// nothing and returns ErrChanged. If the store that it wrote to is not the one of the Load, it
	// returns ErrReplaced, or ErrChanged if it wrote nothing. Missing slots that after has are
	// created as after shows them.
	Swap(ctx context.Context, namespace string, before View, after rules.Namespace) error

	// Lend leases a worker id in one step, as rules.Namespace.Acquire does, if the recorded pin
	// equals the request's and nothing else is due: no loss, no quarantine, no change of the pin, no
	// earlier call of the owner. Otherwise, and if the store has no such step, done is false and
	// nothing has changed.
	Lend(ctx context.Context, req lease.Request) (g lease.Grant, done bool, err error)

	// Renew extends g in one step, as rules.Namespace.RenewAlone does, if the record of the
	// namespace and g's own are in order: see rules.Namespace.InOrder. Otherwise done is false and
	// nothing has changed.
	Renew(ctx context.Context, g lease.Grant) (renewed lease.Grant, done bool, err error)

	// Wrap adds to err what failed, for which namespace, and where, unless err is nil.
	Wrap(verb, namespace string, err error) error

	// String names the store for people, without secrets.
	String() string
}

// A Want says what a call needs. A store may return more.
type Want struct {
	Verb    string        // for errors
	Request lease.Request // of a member's call; empty for an operator's
	Worker  int64         // its slot, or -1
	All     bool          // all slots
	// Borrow asks for the slots that the owner of the request holds or has given back, and for
	// those from which it can be lent one.
	Borrow bool
	// Shows is set if the call changes nothing, so that a server that accepts no writes may answer.
	Shows bool
	// Once is set if the call must not start again after ErrPartly.
	Once bool
	// Lends is set if the answer is a grant, which must not be lost once it is given.
	Lends bool
	// Skip is 0, or how many of the free slots to pass over, since others were faster.
	Skip  uint32
	tries int
}

// lost notes a lost race, and returns how long to wait before the next try, at most the given time.
// Both that and the next choice are spread by the holder.
func (w *Want) lost(most time.Duration) time.Duration {
	w.tries++
	h := fnv.New64a()
	fmt.Fprint(h, w.Request.Holder, w.Request.CallerTime, w.tries)
	sum := h.Sum64()
	w.Skip = uint32(sum) | 1
	return most * time.Duration(sum>>54) / 1024
}

// A Stamp is the quarantine that a Swap began, and the store's clock then.
type Stamp struct{ Now, Quarantine int64 }

// moves moves an answer that refuses a call because of the quarantine of after to that of s. Others
// are by records that have changed.
func (s Stamp) moves(answer error, after rules.Namespace) bool {
	var q *lease.QuarantineError
	if !errors.As(answer, &q) {
		return false
	}
	q.Now = time.UnixMilli(s.Now)
	q.Until = q.Until.Add(time.Duration(s.Quarantine-after.Meta.Quarantine) * time.Millisecond)
	return true
}

// A View is what a Load found.
type View struct {
	rules.Namespace
	Now         time.Time // the store's clock, or zero if it has none: then this host's clock counts
	Incarnation string    // changes if the store may have lost what it acknowledged; empty is not compared
	Kept        any       // the store's own, for Swap
	// Stamp, if it is not nil, says that a Swap that begins a quarantine counts it from the clock of its
	// write, and notes that here. It changes no slot but creates those that are missing, with marks
	// that count from there too. So nothing that was lent and lost since the Load lies above them, and
	// the record of a namespace is created in one step.
	Stamp *Stamp

	Want Want // set by the engine
}
