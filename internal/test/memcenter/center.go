// Package memcenter lends worker ids from memory: a casstore.Center on a Store that tests
// can delay, damage, replace and put on another clock. It lends nothing across processes.
package memcenter

import (
	"context"
	"fmt"
	"sync"

	"github.com/snowlease/snowlease/casstore"
	"github.com/snowlease/snowlease/lease"
)

var _ lease.Center = (*Center)(nil)

// A Hook is called before (after is false) and after each verb: "acquire",
// "renew", "release", "init", "slots". An error of it is the caller's answer:
// before, the verb is not carried out; after, it is, and its reply is lost. It may
// block to delay the call, and is called without a lock.
type Hook func(ctx context.Context, verb string, after bool) error

// Center is a center and its store in one. It is safe for concurrent use. Make it
// with New.
type Center struct {
	*Store
	cas  *casstore.Center
	mu   sync.Mutex
	hook Hook
}

// New returns a center with nothing on record, the clock of this host, and an
// incarnation of "0".
func New() *Center {
	s := NewStore()
	return &Center{Store: s, cas: casstore.New(s)}
}

// Extras are the name, the slots and Init.
func (c *Center) Extras() lease.Extras {
	return lease.Extras{Name: "memory", Lister: c, Init: c.Init}
}

// Intercept sets the hook; nil takes it away.
func (c *Center) Intercept(h Hook) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hook = h
}

// Acquire lends a free worker id.
func (c *Center) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	return hooked(ctx, c, "acquire", func() (lease.Grant, error) { return c.cas.Acquire(ctx, req) })
}

// Renew raises the ceiling of g.
func (c *Center) Renew(ctx context.Context, g lease.Grant) (lease.Grant, error) {
	return hooked(ctx, c, "renew", func() (lease.Grant, error) { return c.cas.Renew(ctx, g) })
}

// Release gives g back.
func (c *Center) Release(ctx context.Context, g lease.Grant, lastUsed int64) error {
	_, err := hooked(ctx, c, "release", func() (struct{}, error) { return struct{}{}, c.cas.Release(ctx, g, lastUsed) })
	return err
}

// Init opens a namespace that is known to be new.
func (c *Center) Init(ctx context.Context, req lease.Request) error {
	_, err := hooked(ctx, c, "init", func() (struct{}, error) { return struct{}{}, c.cas.Init(ctx, req) })
	return err
}

// Slots lists the slots of a namespace; none where nothing is on record.
func (c *Center) Slots(ctx context.Context, namespace string) ([]lease.Slot, error) {
	return hooked(ctx, c, "slots", func() ([]lease.Slot, error) { return c.cas.Slots(ctx, namespace) })
}

// hooked carries out a verb between two calls of the hook.
func hooked[T any](ctx context.Context, c *Center, verb string, do func() (T, error)) (answer T, err error) {
	c.mu.Lock()
	hook := c.hook
	c.mu.Unlock()
	if hook == nil {
		return do()
	}
	if err = hook(ctx, verb, false); err == nil {
		answer, err = do()
		lost := hook(ctx, verb, true)
		if lost == nil {
			lost = ctx.Err()
		}
		if lost == nil {
			return answer, err
		}
		err = lost
	}
	var none T
	return none, fmt.Errorf("memcenter: %s: %w", verb, err)
}
