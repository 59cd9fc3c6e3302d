package redisseq

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/lease"
)

// A Center lends worker ids from Redis. It is safe for concurrent use, keeps no
// state, starts nothing, and does not close its client.
//
// Each method returns when its context ends, even where the client's settings let
// the call go on (go-redis heeds deadlines only with ContextTimeoutEnabled, and the
// end of a context without a deadline never while it waits for a reply). The call
// then ends by itself within the client's timeouts and its outcome is dropped, as if
// the reply had been lost.
type Center struct {
	client     redis.UniversalClient
	name       string
	prefix     string
	quarantine Quarantine
	warnings   []string
	log        *slog.Logger // of a Sequence
	scripts    scripts

	replicas    int // that must have a grant before it is handed out
	waitTimeout time.Duration
}

var (
	_ lease.Center      = (*Center)(nil)
	_ lease.Lister      = (*Center)(nil)
	_ lease.Initializer = (*Center)(nil)
	_ fmt.Stringer      = (*Center)(nil)
)

// New returns a center on client, which stays the caller's to close. It does not
// connect. It refuses, with ErrClient, a client that cannot keep the promise: nil, a
// *redis.Ring, one that reads from replicas, one that may wait for a reply forever.
func New(client redis.UniversalClient, opts ...Option) (*Center, error) {
	name, warnings, err := inspect(client)
	errs := []error{err}
	c := &Center{client: client, name: name, warnings: warnings, prefix: "snowlease", quarantine: OnChange, log: slog.New(slog.DiscardHandler), scripts: loadScripts()}
	for _, opt := range opts {
		errs = append(errs, opt(c))
	}
	if err == nil {
		errs = append(errs, c.canWait())
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return c, nil
}

// String names the Redis, without user or password: "redis 127.0.0.1:6379 db 0".
func (c *Center) String() string { return c.name }

// Warnings returns what New could not check about the client, to be logged.
func (c *Center) Warnings() []string { return slices.Clone(c.warnings) }

// Acquire lends a free worker id: see lease.Center. Errors besides those named
// there: ErrRunID, ErrVersion, ErrReplica, ErrDamaged.
func (c *Center) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	if err := req.Validate(); err != nil {
		return lease.Grant{}, err
	}
	return c.lend(ctx, c.scripts.acquire, "acquire", req, append(c.args(req, req.Local), req.First, req.Last, req.Holder))
}

// Renew raises the ceiling of g, or lends its worker id anew: see lease.Center. Errors
// besides those named there: as of Acquire.
func (c *Center) Renew(ctx context.Context, g lease.Grant) (lease.Grant, error) {
	if err := check(g); err != nil {
		return lease.Grant{}, err
	}
	return c.lend(ctx, c.scripts.renew, "renew", g.Request, append(c.args(g.Request, 0), g.Worker, g.Token, g.Ceiling))
}

// lend runs a script whose reply is a grant.
func (c *Center) lend(ctx context.Context, s script, verb string, req lease.Request, args []any) (lease.Grant, error) {
	r, err := c.run(ctx, s, verb, req, args...)
	if err != nil {
		return lease.Grant{}, err
	}
	g := lease.Grant{Request: req}
	if err := r.ints(&g.Worker, &g.Token, &g.Now, &g.Floor, &g.Ceiling, &g.Since); err != nil {
		return lease.Grant{}, c.wrap(verb, req.Namespace, err)
	}
	return g, nil
}

// Release gives g back: see lease.Center. Errors besides those named there: as of
// Acquire.
func (c *Center) Release(ctx context.Context, g lease.Grant, lastUsed int64) error {
	if err := check(g); err != nil {
		return err
	}
	_, err := c.run(ctx, c.scripts.release, "release", g.Request, append(c.args(g.Request, 0),
		g.Worker, g.Token, min(max(lastUsed, g.Floor), g.Ceiling))...)
	return err
}

// Init opens a namespace that is known to be new. It returns lease.ErrExists where
// any of the four keys is there; the same req asked again, after a lost reply, is
// answered as the first time.
func (c *Center) Init(ctx context.Context, req lease.Request) error {
	if err := req.Validate(); err != nil {
		return err
	}
	_, err := c.run(ctx, c.scripts.init, "init", req, c.args(req, req.Local)...)
	return err
}

// Slots returns all slots of a namespace, ordered by worker id, or none where
// nothing of it is on record. A pool of more than 500 is read in several calls, and
// each Slot says when it was read.
func (c *Center) Slots(ctx context.Context, namespace string) ([]lease.Slot, error) {
	if err := lease.CheckNamespace(namespace); err != nil {
		return nil, err
	}
	var slots []lease.Slot
	for {
		r, err := c.run(ctx, c.scripts.slots, "slots", lease.Request{Namespace: namespace}, int64(len(slots)))
		if err != nil {
			return nil, err
		}
		more, pool, err := r.slots(int64(len(slots)))
		if err != nil {
			return nil, c.wrap("slots", namespace, err)
		}
		slots = append(slots, more...)
		if len(more) == 0 || int64(len(slots)) >= pool {
			return slots, nil
		}
	}
}

// args are the arguments that all scripts but slots share. local 0: no veto.
func (c *Center) args(req lease.Request, local int64) []any {
	return []any{
		req.Pin(), req.Pool, (req.MaxTTL + req.Skew).Milliseconds(), req.Skew.Milliseconds(),
		string(c.quarantine), local, lease.MaxClockError.Milliseconds(),
		hex.EncodeToString(req.Owner[:]), req.TTL.Milliseconds(), req.Ahead.Milliseconds(),
	}
}

func (c *Center) keys(namespace string) []string {
	base := c.prefix + ":{" + namespace + "}:"
	return []string{base + "lease", base + "mark", base + "owner", base + "meta"}
}

// check refuses a grant that no center gave, before its numbers reach a script.
func check(g lease.Grant) error {
	if err := g.Validate(); err != nil {
		return err
	}
	const limit = 1e15 // what scripts read and write exactly
	if g.Worker < 0 || g.Worker >= g.Pool || g.Token < 0 || g.Token >= limit || g.Since < 0 || g.Since >= limit ||
		g.Floor < 0 || g.Ceiling < g.Floor || g.Ceiling >= limit {
		return fmt.Errorf("redisseq: grant of worker %d of %q (token %d, floor %d, ceiling %d, since %d) is none that a center gave: pass what Acquire or Renew returned",
			g.Worker, g.Namespace, g.Token, g.Floor, g.Ceiling, g.Since)
	}
	return nil
}

func ms(t int64) time.Time { return time.UnixMilli(t) }
