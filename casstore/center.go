package casstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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

// A Store keeps records by name. What it must promise is said in the description of
// the package. It is safe for concurrent use. A fmt.Stringer names itself in logs and
// errors, without secrets.
type Store interface {
	// Load returns the record of that name; where there is none, one without a Value.
	// Names are those of namespaces: 1 to 64 characters of A-Z a-z 0-9 . _ - , and
	// differ where the case does.
	Load(ctx context.Context, name string) (Record, error)

	// Swap puts value in the place of the record that Load returned with version. It
	// returns ErrChanged where that is no longer the record, and nothing is changed.
	Swap(ctx context.Context, name, version string, value []byte) error
}

// A Record is what a Store has under a name.
type Record struct {
	Value []byte // empty: there is none
	// Version is what Swap compares; it may be empty where there is no record.
	Version string
	// Now is the store's clock during the call. Zero: that of this host is taken.
	Now time.Time
	// Incarnation changes where acknowledged records may have been lost: a failover,
	// a restart without a log. Empty: it is not compared, as by quarantine: never.
	Incarnation string
}

var (
	// ErrChanged is returned by Store.Swap where the record is no longer the one that
	// was loaded.
	ErrChanged = errors.New("casstore: the record was changed meanwhile")
	// ErrDamaged is wrapped, with lease.ErrSetup, by errors for a record that cannot be
	// read.
	ErrDamaged = errors.New("casstore: the record is damaged")
)

// MaxPool is the largest pool of a namespace: each call rewrites all its slots, which
// have up to 500 bytes each.
const MaxPool = 4096

// Center lends worker ids from a Store. It is safe for concurrent use. Make it with
// New.
type Center struct {
	store Store
	turn  chan struct{} // calls of one process do not compete with each other
}

// New returns a center on the store.
func New(s Store) *Center { return &Center{store: s, turn: make(chan struct{}, 1)} }

// String names the store.
func (c *Center) String() string {
	if s, ok := c.store.(fmt.Stringer); ok {
		return s.String()
	}
	return fmt.Sprintf("%T", c.store)
}

// Acquire lends the free worker id that was used least recently.
func (c *Center) Acquire(ctx context.Context, req lease.Request) (g lease.Grant, err error) {
	err = c.change(ctx, "acquire", req, func(ns rules.Namespace, now int64, incarnation string) (_ rules.Namespace, err error) {
		ns, g, err = ns.Acquire(now, incarnation, req)
		return ns, err
	})
	return answer(g, err)
}

// Renew raises the ceiling of g.
func (c *Center) Renew(ctx context.Context, g lease.Grant) (renewed lease.Grant, err error) {
	if err := check(g); err != nil {
		return lease.Grant{}, err
	}
	err = c.change(ctx, "renew", g.Request, func(ns rules.Namespace, now int64, incarnation string) (_ rules.Namespace, err error) {
		ns, renewed, err = ns.Renew(now, incarnation, g)
		return ns, err
	})
	return answer(renewed, err)
}

// Release gives g back.
func (c *Center) Release(ctx context.Context, g lease.Grant, lastUsed int64) error {
	if err := check(g); err != nil {
		return err
	}
	return c.change(ctx, "release", g.Request, func(ns rules.Namespace, now int64, incarnation string) (rules.Namespace, error) {
		return ns.Release(now, incarnation, g, lastUsed)
	})
}

// Init opens a namespace that is known to be new.
func (c *Center) Init(ctx context.Context, req lease.Request) error {
	return c.change(ctx, "init", req, func(ns rules.Namespace, _ int64, incarnation string) (rules.Namespace, error) {
		return ns.Init(incarnation, req)
	})
}

// Slots shows the slots of a namespace; none where nothing is on record.
func (c *Center) Slots(ctx context.Context, namespace string) ([]lease.Slot, error) {
	if err := lease.CheckNamespace(namespace); err != nil {
		return nil, err
	}
	ns, _, now, err := c.load(ctx, namespace)
	if err != nil {
		return nil, err
	}
	return ns.List(now), nil
}

// check returns an error for a grant that no center can have given.
func check(g lease.Grant) error {
	if g.Worker < g.First || g.Worker > g.Last {
		return fmt.Errorf("casstore: worker id %d of the grant is not one of %d to %d: give a grant as the center returned it", g.Worker, g.First, g.Last)
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

// A rule says what is on record then, and the answer.
type rule func(ns rules.Namespace, now int64, incarnation string) (rules.Namespace, error)

// change puts a rule to the record, anew where another was faster.
func (c *Center) change(ctx context.Context, verb string, req lease.Request, decide rule) error {
	if err := req.Validate(); err != nil {
		return fmt.Errorf("casstore: %s: %w", verb, err)
	}
	if req.Pool > MaxPool {
		return fmt.Errorf("casstore: pool %d is above %d: choose a layout with fewer worker bits, or another center: %w", req.Pool, MaxPool, lease.ErrSetup)
	}
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return fmt.Errorf("casstore: %s: %w", verb, ctx.Err())
	}
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		before, r, now, err := c.load(ctx, req.Namespace)
		if err != nil {
			return fmt.Errorf("%w (%s)", err, verb)
		}
		after, answer := decide(before, now, r.Incarnation)
		if after.Equal(before) {
			return answer
		}
		value, err := encode(after)
		if err != nil {
			return fmt.Errorf("casstore: %s: %w", verb, err)
		}
		switch err = c.store.Swap(ctx, req.Namespace, r.Version, value); {
		case err == nil:
			return answer
		case !errors.Is(err, ErrChanged):
			return fmt.Errorf("casstore: %s: write the record of namespace %q to %v: %w", verb, req.Namespace, c, err)
		}
		select {
		case <-time.After(rand.N(wait)):
		case <-ctx.Done():
			return fmt.Errorf("casstore: %s: others change the record of namespace %q in %v all the time: %w", verb, req.Namespace, c, ctx.Err())
		}
	}
}

// load reads the record and the clock.
func (c *Center) load(ctx context.Context, name string) (ns rules.Namespace, r Record, now int64, err error) {
	if err = ctx.Err(); err == nil {
		r, err = c.store.Load(ctx, name)
	}
	if err != nil {
		return ns, r, 0, fmt.Errorf("casstore: read the record of namespace %q from %v: %w", name, c, err)
	}
	if ns, err = decode(r.Value); err != nil {
		return ns, r, 0, fmt.Errorf("%w: that of namespace %q in %v: %w: put back what was there, or delete it, which begins a quarantine: %w", ErrDamaged, name, c, err, lease.ErrSetup)
	}
	if r.Now.IsZero() {
		r.Now = time.Now()
	}
	return ns, r, r.Now.UnixMilli(), nil
}
