// Package casengine lends worker ids by the rules of package rules from stores that compare
// and swap: those of package casstore, with one record for each namespace, and those that keep a
// namespace in parts, as package etcdseq does. Its errors name casstore.
package casengine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/snowlease/snowlease/internal/bounded"
	"github.com/snowlease/snowlease/internal/hostclock"
	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/lease"
)

// A Store is a casstore.Store, which documents it.
type Store interface {
	Load(ctx context.Context, name string) (Record, error)
	Swap(ctx context.Context, name, version string, value []byte) (incarnation string, err error)
}

// A Record is a casstore.Record, which documents it.
type Record struct {
	Value       []byte
	Version     string
	Now         time.Time
	Incarnation string
}

// ErrChanged is returned by stores if a record is no longer the one that was loaded.
var ErrChanged = errors.New("casstore: the record has changed since it was loaded")

// errReplaced is returned if the store became another one between a Load and a Swap. The
// records are those that the decision was made on, but what the former server did since may be
// forgotten. So nobody uses what was lent: see Acquire.
var errReplaced = errors.New("another server answered in the middle of the call")

var _ lease.Center = (*center)(nil)

// center lends worker ids from a store.
type center struct {
	store any // for people
	records
	turns sync.Map // by namespace, a chan struct{}: the calls of this process would compete
}

// records is where the records are.
type records interface {
	load(ctx context.Context, name string) (view, error)
	// swap replaces the records of before with those of after, or returns ErrChanged, or
	// errReplaced.
	swap(ctx context.Context, name string, before view, after rules.Namespace) error
}

// A view is what load found.
type view struct {
	ns          rules.Namespace
	now         time.Time
	clock       bool // the store has one
	incarnation string
	version     string            // of the one record
	parts       map[string]string // the parts
}

// New returns a center on the store, of which the name is that of named: its text as a
// fmt.Stringer, or its type.
func New(s Store, named any) lease.Center {
	return &center{store: named, records: whole{s}}
}

// Extras implements lease.Center.
func (c *center) Extras() lease.Extras {
	return lease.Extras{Name: c.String(), Lister: c, Operator: c, Init: c.Init}
}

// String names the store without its fields, which may have secrets.
func (c *center) String() string {
	if s, ok := c.store.(fmt.Stringer); ok {
		return s.String()
	}
	return fmt.Sprintf("%T", c.store)
}

// Acquire lends the least recently used free worker id.
func (c *center) Acquire(ctx context.Context, req lease.Request) (g lease.Grant, err error) {
	err = c.change(ctx, "acquire", req, func(ns rules.Namespace, now int64, incarnation string) (_ rules.Namespace, err error) {
		ns, g, err = ns.Acquire(now, incarnation, req)
		for err == nil && g.Floor < ns.Meta.Quarantine {
			// This grant is from an earlier call, whose write may have reached another server
			// than its read, which had forgotten a grant of the same times.
			ns, _ = ns.Revoke(now, g.Worker, g.Token) // it is on record
			ns, g, err = ns.Acquire(now, incarnation, req)
		}
		return ns, err
	})
	return answer(g, err)
}

// Renew raises the ceiling of g.
func (c *center) Renew(ctx context.Context, g lease.Grant) (renewed lease.Grant, err error) {
	if err := check(g); err != nil {
		return lease.Grant{}, err
	}
	if s, ok := c.records.(*split); ok {
		if renewed, done, err := s.renewAlone(ctx, g); err != nil {
			return lease.Grant{}, fmt.Errorf("casstore: renew: write the record of namespace %q to %s: %w", g.Namespace, c.String(), err)
		} else if done {
			return renewed, nil
		}
	}
	err = c.change(ctx, "renew", g.Request, func(ns rules.Namespace, now int64, incarnation string) (_ rules.Namespace, err error) {
		ns, renewed, err = ns.Renew(now, incarnation, g)
		return ns, err
	})
	return answer(renewed, err)
}

// Release gives g back.
func (c *center) Release(ctx context.Context, g lease.Grant, lastUsed int64) error {
	if err := check(g); err != nil {
		return err
	}
	return c.change(ctx, "release", g.Request, func(ns rules.Namespace, now int64, incarnation string) (rules.Namespace, error) {
		return ns.Release(now, incarnation, g, lastUsed)
	})
}

// Init opens a namespace that is known to be new. If it fails halfway, the namespace counts as
// unknown: it starts with a quarantine, and Init returns lease.ErrExists.
func (c *center) Init(ctx context.Context, req lease.Request) error {
	return c.change(ctx, "init", req, func(ns rules.Namespace, _ int64, incarnation string) (rules.Namespace, error) {
		ns, err := ns.Init(incarnation, req)
		if err == nil { // so that it differs from an Init before a loss
			ns.Meta.Reason = fmt.Sprintf("created: %x", lease.NewOwner())
		}
		return ns, err
	})
}

// Slots returns the slots of a namespace, or none if it has no record.
func (c *center) Slots(ctx context.Context, namespace string) ([]lease.Slot, error) {
	v, err := c.look(ctx, "slots", namespace)
	if err != nil {
		return nil, err
	}
	return v.ns.List(v.now.UnixMilli()), nil
}

// check refuses a grant that no center can have returned.
func check(g lease.Grant) error {
	if g.Worker < g.First || g.Worker > g.Last {
		return fmt.Errorf("casstore: worker id %d of the grant is not %d to %d: pass a grant as the center returned it", g.Worker, g.First, g.Last)
	}
	return nil
}

// answer drops the grant if there is an error.
func answer(g lease.Grant, err error) (lease.Grant, error) {
	if err != nil {
		return lease.Grant{}, err
	}
	return g, nil
}

// A rule returns the new record and the answer to the caller.
type rule func(ns rules.Namespace, now int64, incarnation string) (rules.Namespace, error)

// change applies a rule for a request.
func (c *center) change(ctx context.Context, verb string, req lease.Request, decide rule) error {
	if err := req.Validate(); err != nil {
		return fmt.Errorf("casstore: %s: %w", verb, err)
	}
	if req.Pool > rules.MaxPool {
		return fmt.Errorf("casstore: pool %d is above %d: choose a layout with fewer worker bits, or another center: %w", req.Pool, rules.MaxPool, lease.ErrSetup)
	}
	return c.apply(ctx, verb, req.Namespace, decide)
}

// apply applies a rule to the records, and again after a lost race.
func (c *center) apply(ctx context.Context, verb, namespace string, decide rule) error {
	ctx, cancel := bounded.Context(ctx)
	defer cancel()
	only, _ := c.turns.LoadOrStore(namespace, make(chan struct{}, 1))
	turn := only.(chan struct{})
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return fmt.Errorf("casstore: %s: %w", verb, ctx.Err())
	}
	var announced rules.Meta // by this call
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		before, err := c.look(ctx, verb, namespace)
		if err != nil {
			return err
		}
		ns := before.ns
		if ns.Meta == announced {
			ns.Meta = rules.Meta{}
		}
		after, answer := decide(ns, before.now.UnixMilli(), before.incarnation)
		if after.Equal(ns) {
			return answer
		}
		// What is not there does not show whether it was there meanwhile, and is lost again. So
		// create it in two steps: decide by the clock after the first, compare in the second.
		announce := before.ns.Meta == rules.Meta{}
		if announce {
			after = ns.Announced(lease.NewOwner())
			announced = after.Meta
		}
		switch err := c.swap(ctx, namespace, before, after); {
		case err == nil && announce:
			continue
		case err == nil:
			return answer
		case !errors.Is(err, ErrChanged):
			return fmt.Errorf("casstore: %s: write the record of namespace %q to %s: %w", verb, namespace, c.String(), err)
		}
		select {
		case <-time.After(rand.N(wait)):
		case <-ctx.Done():
			return fmt.Errorf("casstore: %s: lost every race to change the record of namespace %q in %s: %w", verb, namespace, c.String(), ctx.Err())
		}
	}
}

// look reads the records and the clock.
func (c *center) look(ctx context.Context, verb, namespace string) (v view, err error) {
	if err := lease.CheckNamespace(namespace); err != nil {
		return v, err
	}
	ctx, cancel := bounded.Context(ctx)
	defer cancel()
	if err = ctx.Err(); err == nil {
		v, err = c.load(ctx, namespace)
	}
	switch {
	case errors.Is(err, lease.ErrDamaged):
		return v, fmt.Errorf("casstore: namespace %q in %s: %w: restore it, or delete it, which starts a quarantine: %w", namespace, c.String(), err, lease.ErrSetup)
	case err != nil:
		return v, fmt.Errorf("casstore: read the record of namespace %q from %s: %w (%s)", namespace, c.String(), err, verb)
	}
	if v.clock = !v.now.IsZero(); !v.clock {
		v.now = hostclock.Now(ctx)
	}
	return v, nil
}

// whole keeps a namespace in one record.
type whole struct{ Store }

func (w whole) load(ctx context.Context, name string) (view, error) {
	r, err := w.Load(ctx, name)
	if err != nil {
		return view{}, err
	}
	ns, err := rules.Decode(r.Value)
	return view{ns: ns, now: r.Now, incarnation: r.Incarnation, version: r.Version}, err
}

func (w whole) swap(ctx context.Context, name string, before view, after rules.Namespace) error {
	value, err := after.Encode()
	if err != nil {
		return err
	}
	incarnation, err := w.Swap(ctx, name, before.version, value)
	if err == nil && incarnation != before.incarnation {
		return errReplaced
	}
	return err
}
