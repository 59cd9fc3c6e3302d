// Package memcenter lends worker ids from memory: a reference center for tests,
// simulations and whatever has to see a lease protocol at work without a server.
// It lends nothing across processes; use dbseq or redisseq for that.
//
// Its decisions are package rules; here are only the lock, the clock, and the
// faults that a store can have. Its clock is time.Now, so that it can run inside
// testing/synctest.
package memcenter

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/lease"
)

var (
	_ lease.Center      = (*Center)(nil)
	_ lease.Lister      = (*Center)(nil)
	_ lease.Initializer = (*Center)(nil)
	_ fmt.Stringer      = (*Center)(nil)
)

// A Hook is called before (after is false) and after each verb: "acquire",
// "renew", "release", "init", "slots". An error of it is the caller's answer:
// before, the verb is not carried out; after, it is, and its reply is lost. It may
// block to delay the call, and is called without a lock.
type Hook func(ctx context.Context, verb string, after bool) error

// Center is a center and its store in one. It is safe for concurrent use. Make it
// with New.
type Center struct {
	mu          sync.Mutex
	namespaces  map[string]rules.Namespace
	offset      time.Duration
	incarnation string
	hook        Hook
}

// New returns a center with nothing on record, the clock of this host, and an
// incarnation of "0".
func New() *Center {
	return &Center{namespaces: map[string]rules.Namespace{}, incarnation: "0"}
}

// String names the store.
func (c *Center) String() string { return "memory" }

// Acquire lends a free worker id.
func (c *Center) Acquire(ctx context.Context, req lease.Request) (g lease.Grant, err error) {
	err = c.do(ctx, "acquire", req.Namespace, req.Validate(), func(ns rules.Namespace, now int64) (_ rules.Namespace, err error) {
		ns, g, err = ns.Acquire(now, c.incarnation, req)
		return ns, err
	})
	return answer(g, err)
}

// Renew raises the ceiling of g.
func (c *Center) Renew(ctx context.Context, g lease.Grant) (renewed lease.Grant, err error) {
	err = c.do(ctx, "renew", g.Namespace, check(g), func(ns rules.Namespace, now int64) (_ rules.Namespace, err error) {
		ns, renewed, err = ns.Renew(now, c.incarnation, g)
		return ns, err
	})
	return answer(renewed, err)
}

// Release gives g back.
func (c *Center) Release(ctx context.Context, g lease.Grant, lastUsed int64) error {
	return c.do(ctx, "release", g.Namespace, check(g), func(ns rules.Namespace, now int64) (rules.Namespace, error) {
		return ns.Release(now, c.incarnation, g, lastUsed)
	})
}

// Init opens a namespace that is known to be new.
func (c *Center) Init(ctx context.Context, req lease.Request) error {
	return c.do(ctx, "init", req.Namespace, req.Validate(), func(ns rules.Namespace, _ int64) (rules.Namespace, error) {
		return ns.Init(c.incarnation, req)
	})
}

// Slots lists the slots of a namespace; none where nothing is on record.
func (c *Center) Slots(ctx context.Context, namespace string) (slots []lease.Slot, err error) {
	err = c.do(ctx, "slots", namespace, lease.CheckNamespace(namespace), func(ns rules.Namespace, now int64) (rules.Namespace, error) {
		slots = ns.List(now)
		return ns, nil
	})
	if err != nil {
		return nil, err
	}
	return slots, nil
}

// do puts a rule to the records of a namespace, unless the arguments are invalid.
func (c *Center) do(ctx context.Context, verb, namespace string, invalid error, rule func(rules.Namespace, int64) (rules.Namespace, error)) error {
	if invalid != nil {
		return fmt.Errorf("memcenter: %s: %w", verb, invalid)
	}
	if err := c.call(ctx, verb, false); err != nil {
		return err
	}
	c.mu.Lock()
	ns, err := rule(c.namespaces[namespace], c.now())
	c.namespaces[namespace] = ns
	c.mu.Unlock()
	if lost := c.call(ctx, verb, true); lost != nil {
		return lost
	}
	return err
}

// call runs the hook, and ends the call with its context.
func (c *Center) call(ctx context.Context, verb string, after bool) error {
	c.mu.Lock()
	hook := c.hook
	c.mu.Unlock()
	if hook != nil {
		if err := hook(ctx, verb, after); err != nil {
			return fmt.Errorf("memcenter: %s: %w", verb, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("memcenter: %s: %w", verb, err)
	}
	return nil
}

// check returns an error for a grant that no center can have given.
func check(g lease.Grant) error {
	if err := g.Validate(); err != nil {
		return err
	}
	if g.Worker < g.First || g.Worker > g.Last {
		return fmt.Errorf("worker %d of the grant is not one of %d to %d: give a grant as the center returned it", g.Worker, g.First, g.Last)
	}
	return nil
}

// answer is a grant or an error, never both.
func answer(g lease.Grant, err error) (lease.Grant, error) {
	if err != nil {
		return lease.Grant{}, err
	}
	return g, nil
}

// Intercept sets the hook; nil takes it away.
func (c *Center) Intercept(h Hook) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hook = h
}

// Now is the center's clock.
func (c *Center) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.UnixMilli(c.now())
}

func (c *Center) now() int64 { return time.Now().Add(c.offset).UnixMilli() }

// Advance moves the center's clock by d, which may be negative. It goes on from
// there.
func (c *Center) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
}

// Set moves the center's clock to t. It goes on from there.
func (c *Center) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset = time.Until(t)
}

// Reincarnate makes the store another incarnation with the records it has. With an
// empty one it is never compared, as with quarantine: never.
func (c *Center) Reincarnate(incarnation string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.incarnation = incarnation
}

// Wipe loses all records.
func (c *Center) Wipe() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.namespaces = map[string]rules.Namespace{}
}

// Change replaces the records of a namespace, as by a fault:
//
//	c.Change("orders", rules.Namespace.WithoutMeta)
func (c *Center) Change(namespace string, fault func(rules.Namespace) rules.Namespace) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.namespaces[namespace] = fault(c.namespaces[namespace])
}

// Snapshot keeps the records of all namespaces as they are; restore brings them
// back. With Reincarnate after it, this is a failover to a stale replica.
func (c *Center) Snapshot() (restore func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := maps.Clone(c.namespaces) // the values are never changed in place
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.namespaces = maps.Clone(kept)
	}
}
