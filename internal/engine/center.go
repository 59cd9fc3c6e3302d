// Package engine lends worker ids by the rules of package rules. A Store loads and swaps the
// records of a namespace; everything that is decided is decided here and in package rules.
package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowlease/snowlease/internal/bounded"
	"github.com/snowlease/snowlease/internal/hostclock"
	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/lease"
)

// ErrChanged is returned by stores if a record is no longer the one that was loaded.
var ErrChanged = errors.New("casstore: the record has changed since it was loaded")

// ErrPartly is ErrChanged if others changed the records while missing ones were created: some are.
var ErrPartly = fmt.Errorf("%w: while missing ones were created", ErrChanged)

// ErrReplaced is returned if another server answered the Swap than the Load. The decision was made on
// these records, but the new server may have forgotten what the previous one did since. So nobody
// uses the grant: see Acquire.
var ErrReplaced = errors.New("another server answered in the middle of the call")

var _ lease.Center = (*Center)(nil)

// A Center lends worker ids from a store.
type Center struct {
	store Store
	max   int64 // the largest pool
}

// New returns a center on a store that keeps pools of at most max worker ids.
func New(s Store, maxPool int64) *Center { return &Center{store: s, max: maxPool} }

// Extras implements lease.Center.
func (c *Center) Extras() lease.Extras {
	return lease.Extras{Name: c.String(), Lister: c, Operator: c, Init: c.Init}
}

// Close implements lease.Center. The caller closes the store.
func (c *Center) Close() error { return nil }

// String names the store.
func (c *Center) String() string { return c.store.String() }

// Acquire lends the free worker id that was used least recently, or another one after a lost race.
func (c *Center) Acquire(ctx context.Context, req lease.Request) (g lease.Grant, err error) {
	want := Want{Verb: "acquire", Borrow: true, Worker: -1, Lends: true, Request: req}
	if err := c.check(want); err != nil {
		return g, err
	}
	ctx, cancel := bounded.Context(ctx)
	defer cancel()
	if g, done, err := c.store.Lend(ctx, req); done || err != nil {
		return answer(g, err)
	}
	err = c.apply(ctx, req.Namespace, want, func(ns rules.Namespace, now int64, v View) (_ rules.Namespace, err error) {
		ns, g, err = ns.AcquireBeside(now, v.Incarnation, req, v.Want.Skip)
		return ns, err
	})
	return answer(g, err)
}

// Renew raises the ceiling of g, in one step of the store while nothing else is due.
func (c *Center) Renew(ctx context.Context, g lease.Grant) (renewed lease.Grant, err error) {
	if err := g.Validate(); err != nil {
		return lease.Grant{}, err
	}
	ctx, cancel := bounded.Context(ctx)
	defer cancel()
	if renewed, done, err := c.store.Renew(ctx, g); done || err != nil {
		return answer(renewed, err)
	}
	err = c.change(ctx, Want{Verb: "renew", Worker: g.Worker, Lends: true, Request: g.Request}, func(ns rules.Namespace, now int64, v View) (_ rules.Namespace, err error) {
		ns, renewed, err = ns.Renew(now, v.Incarnation, g)
		return ns, err
	})
	return answer(renewed, err)
}

// Release gives g back.
func (c *Center) Release(ctx context.Context, g lease.Grant, lastUsed int64) error {
	if err := g.Validate(); err != nil {
		return err
	}
	return c.change(ctx, Want{Verb: "release", Worker: g.Worker, Request: g.Request}, func(ns rules.Namespace, now int64, v View) (rules.Namespace, error) {
		return ns.Release(now, v.Incarnation, g, lastUsed)
	})
}

// Init opens a namespace that is known to be new. If it fails halfway, the namespace counts as
// unknown: it starts with a quarantine, and Init returns lease.ErrExists.
func (c *Center) Init(ctx context.Context, req lease.Request) error {
	return c.change(ctx, Want{Verb: "init", Worker: -1, Once: true, Request: req}, func(ns rules.Namespace, now int64, v View) (rules.Namespace, error) {
		if err := rules.ClockVeto(now, req); err != nil {
			return ns, err
		}
		reason := fmt.Sprintf("created: %x", req.Owner) // so that it differs from an Init before a loss
		if ns.Meta.Reason == reason {
			return ns, nil // an earlier call, whose answer was lost
		}
		ns, err := ns.Init(v.Incarnation, req)
		if err == nil {
			ns.Meta.Reason = reason
		}
		return ns, err
	})
}

// Slots returns the slots of a namespace, or none if it has no record.
func (c *Center) Slots(ctx context.Context, namespace string) ([]lease.Slot, error) {
	v, err := c.look(ctx, namespace, Want{Verb: "slots", All: true, Worker: -1, Shows: true})
	if err != nil {
		return nil, err
	}
	return v.List(v.Now.UnixMilli()), nil
}

// answer drops the grant if there is an error.
func answer(g lease.Grant, err error) (lease.Grant, error) {
	if err != nil {
		return lease.Grant{}, err
	}
	return g, nil
}

// A rule returns the new record and the answer to the caller.
type rule func(ns rules.Namespace, now int64, v View) (rules.Namespace, error)

// change applies a rule for a request.
func (c *Center) change(ctx context.Context, want Want, decide rule) error {
	if err := c.check(want); err != nil {
		return err
	}
	return c.apply(ctx, want.Request.Namespace, want, decide)
}

// check refuses a request that is not valid.
func (c *Center) check(want Want) error {
	req := want.Request
	if err := req.Validate(); err != nil {
		return c.store.Wrap(want.Verb, req.Namespace, err)
	}
	if req.Pool > c.max {
		return fmt.Errorf("pool %d is above %d: choose a layout with fewer worker bits, or another center: %w", req.Pool, c.max, lease.ErrSetup)
	}
	return nil
}

// apply applies a rule to the records, and again after a lost race.
func (c *Center) apply(ctx context.Context, namespace string, want Want, decide rule) error {
	ctx, cancel := bounded.Context(ctx)
	defer cancel()
	var announced rules.Meta // by this call
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		before, err := c.look(ctx, namespace, want)
		if err != nil {
			return c.outrun(ctx, namespace, want, err)
		}
		ns := before.Namespace
		if ns.Meta == announced {
			ns.Meta = rules.Meta{}
		}
		after, answer := decide(ns, before.Now.UnixMilli(), before)
		// Rewrite a grant that was recorded already: a read may show data that is not committed
		// or not replicated.
		if after.Equal(ns) && (answer != nil || !want.Lends) {
			return answer
		}
		// A missing record may have existed in the meantime and be lost again. So create it in two
		// steps: decide by the clock after the first, compare in the second.
		announce := before.Meta == rules.Meta{} && before.Stamp == nil
		if announce {
			after = ns.Announced(lease.NewOwner())
			announced = after.Meta
		}
		switch err := c.store.Swap(ctx, namespace, before, after); {
		case err == nil && announce:
			continue
		case err == nil && want.Request.Pool > 0 && before.Stamp != nil && *before.Stamp != Stamp{}:
			if before.Stamp.moves(answer, after) {
				return answer
			}
			continue
		case err == nil:
			return answer
		case errors.Is(err, ErrPartly) && want.Once:
			return lease.ErrExists // others may have been lent a worker id, and all records be lost again
		case !errors.Is(err, ErrChanged):
			return c.outrun(ctx, namespace, want, err)
		}
		select {
		case <-time.After(want.lost(wait)):
		case <-ctx.Done():
			return c.outrun(ctx, namespace, want, ctx.Err())
		}
	}
}

// outrun returns err, or that others were faster until the end of ctx.
func (c *Center) outrun(ctx context.Context, namespace string, want Want, err error) error {
	if want.tries == 0 || ctx.Err() == nil {
		return err
	}
	return c.store.Wrap(want.Verb, namespace, fmt.Errorf("lost every race to change the records, or they come from several servers: %w", ctx.Err()))
}

// look reads the records and the clock.
func (c *Center) look(ctx context.Context, namespace string, want Want) (v View, err error) {
	if err := lease.CheckNamespace(namespace); err != nil {
		return v, err
	}
	ctx, cancel := bounded.Context(ctx)
	defer cancel()
	if err = ctx.Err(); err != nil {
		return v, c.store.Wrap(want.Verb, namespace, err)
	}
	v, err = c.store.Load(ctx, namespace, want)
	if v.Want = want; v.Now.IsZero() {
		v.Now = hostclock.Now(ctx)
	}
	return v, err
}
