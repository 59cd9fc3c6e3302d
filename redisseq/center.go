package redisseq

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/internal/redisconn"
	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/lease"
)

// A Center lends worker ids from Redis. It is safe for concurrent use. It keeps no
// state and no goroutines between calls. One Center serves any number of namespaces.
//
// Each method returns when its context ends, even if go-redis does not, which never obeys a
// cancellation while it waits for a reply. The call then ends within the client's timeouts. Its
// outcome is dropped, as if the reply had been lost.
type Center struct{ conn *redisconn.Conn }

var _ lease.Center = (*Center)(nil)

// New returns a center with a client of its own, which has the options of client but for its Limiter
// and cache, no hooks, and at most two connections, to each node of a cluster. So renewals do not
// wait while the application keeps all connections of client busy. The caller closes the center,
// then client. Another redis.UniversalClient than a *redis.Client or *redis.ClusterClient, and one of
// NewFailoverClusterClient, is shared, with a warning. New does not connect.
//
// New returns ErrClient for nil and for a *redis.Ring, which could break uniqueness. It also fails if
// an option is invalid or does not suit the client.
func New(client redis.UniversalClient, opts ...Option) (*Center, error) {
	c, err := redisconn.New(client, opts...)
	if err != nil {
		return nil, err
	}
	return &Center{c}, nil
}

// String returns the name of the server without user and password, such as
// "redis 127.0.0.1:6379 db 0".
func (c *Center) String() string { return c.conn.String() }

// Extras returns the name of the server without user and password, such as
// "redis 127.0.0.1:6379 db 0", what New could not check about the client as Warnings, the
// lease.Lister, the lease.Operator, Init, Examine and Close. Examine needs the members'
// WithQuarantine and WithWaitReplicas.
func (c *Center) Extras() lease.Extras {
	o := operator{c}
	return lease.Extras{Name: c.String(), Warnings: c.conn.Warnings(), Lister: o, Operator: o, Init: c.init, Examine: c.examine, Close: c.Close}
}

// Close closes the center's own client, until the next call. It releases no worker id.
func (c *Center) Close() error { return c.conn.Close() }

// Acquire lends a free worker id. Errors are those of lease.Center, and ErrRunID,
// ErrVersion, ErrReplica and ErrNotReplicated.
func (c *Center) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	if err := req.Validate(); err != nil {
		return lease.Grant{}, err
	}
	return c.lend(ctx, acquire, lease.Grant{Request: req}, req.Local, req.First, req.Last, req.Holder)
}

// Renew raises the ceiling of g or, after a loss, lends another range of its worker id.
// Errors are those of lease.Center, and those of this package that Acquire returns.
func (c *Center) Renew(ctx context.Context, g lease.Grant) (lease.Grant, error) {
	if err := g.Validate(); err != nil {
		return lease.Grant{}, err
	}
	return c.lend(ctx, renew, g, 0, g.Worker, g.Token, g.Ceiling)
}

// lend runs a script whose reply is a grant.
func (c *Center) lend(ctx context.Context, s script, was lease.Grant, local int64, args ...any) (lease.Grant, error) {
	r, pin, err := c.join(ctx, s, was, local, args...)
	if err != nil {
		return lease.Grant{}, err
	}
	g := lease.Grant{Request: was.Request, Pinned: pin}
	if err := r.Ints(&g.Worker, &g.Token, &g.Now, &g.Floor, &g.Ceiling, &g.Since); err != nil {
		return lease.Grant{}, c.wrap(s, g.Namespace, err)
	}
	if was.Token == 0 { // a borrow
		if next := rules.Proposed(pin, g); next != pin {
			if next, err = c.repin(ctx, g.Request, pin, next); err == nil {
				g.Pinned = next
			}
		}
	}
	return g, nil
}

// join runs a script by the pin on record, which it raises to the request of g, and goes on with a
// change of the pin. With local 0, the caller's clock is not compared.
func (c *Center) join(ctx context.Context, s script, g lease.Grant, local int64, args ...any) (redisconn.Reply, lease.Pin, error) {
	pin, ok := g.Pinned.Join(g.Request)
	if !ok {
		pin = g.Pin()
	}
	next := pin
	if pin == g.Pinned && g.Now > 0 {
		next = rules.Advanced(pin, g.Now)
	}
	for range 10 {
		if next != pin {
			switch is, err := c.repin(ctx, g.Request, pin, next); {
			case err == nil:
				pin = is
			case !errors.Is(err, errChanged) && !errors.Is(err, lease.ErrUnknown):
				return nil, pin, err
			}
		}
		r, err := c.run(ctx, s, g.Request, append(c.args(g, pin, local), args...)...)
		var (
			other *lease.MismatchError
			q     *lease.QuarantineError
			most  *holdError
		)
		switch {
		case errors.As(err, &other):
			pin = other.Stored
			next, err = rules.Joined(pin, g.Pinned, 0, g.Request)
		case errors.As(err, &most):
			pin, err = rules.Joined(lease.Pin{}, g.Pinned, most.hold, g.Request)
			next = pin
		case errors.As(err, &q):
			if next = rules.Waiting(pin, q.Now.UnixMilli()); next != pin {
				err = nil
			}
		default:
			return r, pin, err
		}
		if err != nil {
			return nil, pin, err
		}
	}
	return nil, pin, c.wrap(s, g.Namespace, errChanged)
}

// repin replaces the pin on record and returns the new one, whose At counts from the server's clock,
// or errChanged or lease.ErrUnknown.
func (c *Center) repin(ctx context.Context, req lease.Request, pin, next lease.Pin) (lease.Pin, error) {
	text, wait, sound := next.String(), int64(0), ""
	if next.Change.At > 0 && pin.Change.At <= 0 {
		text, wait = strings.TrimRight(text, "0123456789"), rules.Advanced(pin, 0).Change.At
	}
	if pin.Change.At > 0 {
		sound = string(c.conn.Quarantine)
	}
	r, err := c.run(ctx, repin, req, pin.String(), text, next.Hold().Milliseconds(), wait, sound, req.Pool)
	if err == nil && len(r) != 2 {
		err = c.wrap(repin, req.Namespace, r.Unknown())
	}
	if err != nil {
		return pin, err
	}
	return lease.ParsePin(r[1]), nil
}

// Release gives g back. Errors are lease.ErrLost, *lease.MismatchError, and those of this
// package that Acquire returns, except ErrNotReplicated.
func (c *Center) Release(ctx context.Context, g lease.Grant, lastUsed int64) error {
	if err := g.Validate(); err != nil {
		return err
	}
	_, _, err := c.join(ctx, release, g, 0, g.Worker, g.Token, min(max(lastUsed, g.Floor), g.Ceiling))
	return err
}

// init is that of lease.Extras. It may be repeated with the same req after a lost reply.
func (c *Center) init(ctx context.Context, req lease.Request) error {
	if err := req.Validate(); err != nil {
		return err
	}
	_, err := c.run(ctx, opening, req, c.args(lease.Grant{Request: req}, req.Pin(), req.Local)...)
	return err
}

// Slots implements lease.Lister. It returns none if the namespace has no record. It reads a
// pool of more than 500 in several calls; Slot.Now says when each slot was read.
func (c operator) Slots(ctx context.Context, namespace string) ([]lease.Slot, error) {
	var slots []lease.Slot
	for {
		r, err := c.run(ctx, show, lease.Request{Namespace: namespace}, int64(len(slots)))
		if err != nil {
			return nil, err
		}
		more, pool, err := readSlots(r, int64(len(slots)))
		if err != nil {
			return nil, c.wrap(show, namespace, err)
		}
		slots = append(slots, more...)
		if len(more) == 0 || int64(len(slots)) >= pool {
			return slots, nil
		}
	}
}

// readSlots parses the slots that start with worker id from, and the size of the pool.
func readSlots(r redisconn.Reply, from int64) (slots []lease.Slot, pool int64, err error) {
	var now int64
	const width = 5
	if len(r) < 3 || (len(r)-3)%width != 0 {
		return nil, 0, r.Unknown()
	}
	if err := r[:3].Ints(&now, &pool); err != nil {
		return nil, 0, err
	}
	for i := 3; i < len(r); i += width {
		s := lease.Slot{Worker: from + int64(len(slots)), Holder: r[i+4], Now: now}
		if err := r[i-1:i+4].Ints(&s.Expires, &s.Mark, &s.Token, &s.Since); err != nil {
			return nil, 0, err
		}
		if s.Expires < lease.MaxPool { // never lent: its own number
			s.Expires = 0
		}
		slots = append(slots, s)
	}
	return slots, pool, nil
}

// args returns the arguments that the scripts of Acquire, Renew, Release and Init share.
func (c *Center) args(g lease.Grant, pin lease.Pin, local int64) []any {
	by := rules.By(pin, g.Request)
	return []any{
		pin.String(), g.Pool, pin.Hold().Milliseconds(), rules.Held(g, pin).Skew.Milliseconds(),
		string(c.conn.Quarantine), local, lease.MaxClockError.Milliseconds(),
		hex.EncodeToString(g.Owner[:]), by.TTL.Milliseconds(), by.MaxTTL.Milliseconds(), by.Ahead.Milliseconds(),
	}
}
