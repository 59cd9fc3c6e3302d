// Package memcenter lends worker ids from memory. Its Center is one of casstore on a Store
// that tests can delay, damage, replace and give another clock. It serves one process only.
package memcenter

import (
	"context"
	"fmt"
	"sync"

	"github.com/snowlease/snowlease/casstore"
	"github.com/snowlease/snowlease/lease"
)

var _ lease.Center = (*Center)(nil)

// A Hook is called before (after is false) and after each verb: "acquire", "renew",
// "release", "init", "slots". Its error is returned to the caller. An error before the
// verb prevents it; an error after the verb loses its reply. A Hook may block to delay
// the call. It is called without a lock.
type Hook func(ctx context.Context, verb string, after bool) error

// Center is a center and its store in one. It is safe for concurrent use. Create it with New.
type Center struct {
	*Store
	cas  lease.Center
	mu   sync.Mutex
	hook Hook
}

// New returns a center without records, with the clock of this host and the incarnation "0".
func New() *Center {
	s := NewStore()
	return &Center{Store: s, cas: casstore.New(s)}
}

// Extras returns the name, the slots and Init.
func (c *Center) Extras() lease.Extras {
	return lease.Extras{Name: "memory", Lister: c, Init: c.Init}
}

// Close implements lease.Center. There is nothing to close.
func (c *Center) Close() error { return nil }

// Intercept sets the hook; nil removes it.
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

// Release gives back g.
func (c *Center) Release(ctx context.Context, g lease.Grant, lastUsed int64) error {
	_, err := hooked(ctx, c, "release", func() (struct{}, error) { return struct{}{}, c.cas.Release(ctx, g, lastUsed) })
	return err
}

// Init opens a namespace that is known to be new.
func (c *Center) Init(ctx context.Context, req lease.Request) error {
	_, err := hooked(ctx, c, "init", func() (struct{}, error) { return struct{}{}, c.cas.Extras().Init(ctx, req) })
	return err
}

// Slots lists the slots of a namespace, or none without records.
func (c *Center) Slots(ctx context.Context, namespace string) ([]lease.Slot, error) {
	return hooked(ctx, c, "slots", func() ([]lease.Slot, error) { return c.cas.Extras().Lister.Slots(ctx, namespace) })
}

// hooked carries out a verb between the two calls of the hook.
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
