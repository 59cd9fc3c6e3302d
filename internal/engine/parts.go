package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/snowlease/snowlease/internal/hostclock"
	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/lease"
)

// A SplitStore keeps a namespace in parts and changes several of them in one step, as
// databases and etcd do. A renewal then writes one small part instead of the record of
// all slots, and two processes get in each other's way only over the same worker id.
//
// casstore.Store has the same requirements, with a version in place of the values of the parts. It must be safe for concurrent use. If it is a fmt.Stringer, logs and errors
// show its text, which must contain no secrets.
type SplitStore interface {
	// Load returns all parts of a namespace by name, as they are at one moment: "meta" for the
	// namespace, and a number for each worker id that was lent. The incarnation has the meaning of
	// casstore.Record.Incarnation.
	Load(ctx context.Context, namespace string) (parts map[string]string, incarnation string, err error)

	// Swap writes the parts of is, at most 100, in one step, if each part of was still has
	// that value; an empty value stands for no part. Otherwise it changes nothing and
	// returns ErrChanged. It returns the incarnation of the store that it wrote to.
	Swap(ctx context.Context, namespace string, was, is map[string]string) (incarnation string, err error)
}

// NewSplit returns a center on the store, by this host's clock. Acquire and Release take one Load and
// one Swap, or two of each if the namespace has no record. A renewal takes one Swap.
func NewSplit(s SplitStore) *Center {
	return New(&split{Base: Base{s}, store: s, last: map[place]kept{}}, rules.MaxPool)
}

// split keeps a namespace in parts.
type split struct {
	Base
	store SplitStore

	mu   sync.Mutex
	last map[place]kept
}

// A place identifies the record of a grant.
type place struct {
	namespace string
	worker    int64
}

// kept is the record as this process wrote it when it borrowed or renewed a grant. The store
// compares it with the current one.
type kept struct {
	meta, slot  string
	incarnation string
}

func (s *split) Load(ctx context.Context, namespace string, want Want) (View, error) {
	parts, incarnation, err := s.store.Load(ctx, namespace)
	if err != nil {
		return View{}, s.Wrap(want.Verb, namespace, fmt.Errorf("read the record: %w", err))
	}
	ns, err := rules.OfParts(parts)
	return View{Namespace: ns, Incarnation: incarnation, Kept: parts}, s.Wrap(want.Verb, namespace, err)
}

// Swap compares the part of the namespace and the parts that it writes. Parts of other worker
// ids may change in the meantime: a grant depends on none of them.
func (s *split) Swap(ctx context.Context, namespace string, before View, after rules.Namespace) error {
	was, is, meta := changes(before, after)
	incarnation, err := s.store.Swap(ctx, namespace, was, is)
	if err == nil && incarnation != before.Incarnation {
		err = ErrReplaced
	}
	if err != nil {
		return s.Wrap(before.Want.Verb, namespace, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range after.Slots {
		if text, ok := is[strconv.Itoa(w)]; ok {
			s.last[place{namespace, int64(w)}] = kept{meta, text, incarnation}
		}
	}
	return nil
}

// changes returns the parts that a Swap compares and changes, and the part of the namespace. It
// creates some of the lost parts at a time; the others count as lost in the next call.
func changes(before View, after rules.Namespace) (compared, changed map[string]string, meta string) {
	parts := after.Parts()
	was, meta := before.Kept.(map[string]string), parts[rules.MetaPart]
	compared, changed = map[string]string{rules.MetaPart: was[rules.MetaPart]}, map[string]string{}
	if meta != "" && meta != was[rules.MetaPart] {
		changed[rules.MetaPart] = meta
	}
	for w, slot := range after.Slots {
		var former, whole rules.Slot
		if w < len(before.Slots) {
			former = before.Slots[w]
		}
		whole = former
		whole.HasLease, whole.HasMark = true, true
		name := strconv.Itoa(w)
		value, ok := parts[name]
		if !ok && slot.HasMark && was[name] != "" && was[name] != rules.NeverLent {
			value, ok = rules.NeverLent, true
		}
		if ok && (slot != whole || (former != whole || after.Shape != before.Shape) && len(changed) < rules.LostAtOnce) {
			compared[name], changed[name] = was[name], value
		}
	}
	return compared, changed, meta
}

// Renew extends a grant by one Swap, without a Load, if nothing has happened to its
// records since this process wrote them. Values of parts are compared, not revisions: these
// recur after a restore, but a value has the owner, who is a nonce of one borrow.
func (s *split) Renew(ctx context.Context, g lease.Grant) (renewed lease.Grant, done bool, err error) {
	at, name := place{g.Namespace, g.Worker}, strconv.FormatInt(g.Worker, 10)
	s.mu.Lock()
	k, ok := s.last[at]
	s.mu.Unlock()
	if !ok || ctx.Err() != nil {
		return g, false, nil
	}
	ns, err := rules.OfParts(map[string]string{rules.MetaPart: k.meta, name: k.slot})
	now := hostclock.Now(ctx).UnixMilli()
	if err != nil || !ns.InOrder(now, k.incarnation, g) {
		return g, false, nil //nolint:nilerr // the other way finds the error
	}
	ns, renewed, _ = ns.RenewAlone(now, k.incarnation, g) // in order, so there is no error
	parts := ns.Parts()
	incarnation, err := s.store.Swap(ctx, g.Namespace,
		map[string]string{rules.MetaPart: k.meta, name: k.slot}, map[string]string{name: parts[name]})
	if err != nil && !errors.Is(err, ErrChanged) {
		return g, false, s.Wrap("renew", g.Namespace, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || incarnation != k.incarnation {
		delete(s.last, at)
		return g, false, nil
	}
	k.slot = parts[name]
	s.last[at] = k
	return renewed, true, nil
}
