package dbseq

import (
	"cmp"
	"context"
	"time"

	"github.com/snowlease/snowlease/internal/bounded"
	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/internal/sqlconn"
	"github.com/snowlease/snowlease/lease"
)

// Acquire lends a free worker id: the one that a ticket chooses, or else the least
// recently used. It takes 4 statements, and a fifth to delete the ticket of the previous
// holder; the first call takes more, a repeated one 2. lease.Center lists the errors.
func (c *Center) Acquire(ctx context.Context, req lease.Request) (g lease.Grant, err error) {
	if err := req.Validate(); err != nil {
		return lease.Grant{}, err
	}
	c.conn.Reopen()
	k := c.newCall(req, lease.Pin{}, true)
	err = c.verb(ctx, k, "acquire a worker id", func(ctx context.Context) (err error) {
		g, err = c.acquire(ctx, k)
		return err
	})
	if err != nil {
		return lease.Grant{}, err
	}
	return g, nil
}

// verb prepares the tables and runs f, within bounded.Time if ctx has no deadline. If a table has been dropped since, verb creates
// the tables again and repeats f.
func (c *Center) verb(ctx context.Context, k *call, what string, f func(context.Context) error) error {
	ctx, cancel := bounded.Context(ctx)
	defer cancel()
	err := c.prepare(ctx, k)
	if err == nil {
		if err = f(ctx); c.conn.TableMissing(err) {
			c.ready.Store(false)
			if err = c.prepare(ctx, k); err == nil {
				err = f(ctx)
			}
		}
	}
	return c.conn.Wrap(ctx, what, err)
}

func (c *Center) acquire(ctx context.Context, k *call) (lease.Grant, error) {
	var (
		v view
		t tickets
	)
	defer func() {
		if t.done != 0 {
			c.forget(ctx, k, t.done, t.drawn)
		}
	}()
	for range sqlconn.Rounds {
		var err error
		if v, err = c.survey(ctx, k); err != nil {
			return lease.Grant{}, err
		}
		if err := rules.Quarantined(v.reason, v.quarantine, v.now, k.pin, k.by); err != nil {
			return lease.Grant{}, err
		}
		if g, done, err := c.borrow(ctx, k, v, &t); done || err != nil {
			return g, err
		}
	}
	return lease.Grant{}, k.full(v)
}

// tickets are the one that a call has drawn, and the one to delete at its end.
type tickets struct{ drawn, done int64 }

// borrow lends by what a look has shown. done is false if that has changed.
func (c *Center) borrow(ctx context.Context, k *call, v view, t *tickets) (g lease.Grant, done bool, err error) {
	switch {
	case v.held.there && v.held.since == 0: // given back
		return g, false, lease.ErrLost
	case v.held.there && v.held.mark > v.held.floor: // the reply to an earlier attempt was lost
		return c.lendAgain(ctx, k, v)
	case v.soonest >= v.now:
		return g, false, cmp.Or(rules.CheckNumber("the time at which a worker id is free", v.soonest), k.full(v))
	}
	if t.drawn == 0 {
		if t.drawn, err = c.draw(ctx, k); err != nil {
			return g, false, err
		}
		t.done = t.drawn
	}
	r, err := c.claim(ctx, k, v, t.drawn)
	if err != nil || !r.there {
		return g, false, err
	}
	t.done = r.ticket
	return c.proposed(ctx, k, k.grant(r)), true, nil
}

// full returns the error when no worker id was free at a look.
func (k *call) full(v view) error {
	return &lease.NoFreeWorkerError{
		Namespace: k.req.Namespace, First: k.req.First, Last: k.req.Last,
		Now: time.UnixMilli(v.now), Soonest: time.UnixMilli(max(v.soonest+1, v.now)),
	}
}

// lendAgain leases the owner's recorded worker id again. It rewrites the record, even if nothing
// changes in it, because a read may show data that is not committed or not replicated. Once the later
// write is, the earlier one is too. done is false if the record has changed.
func (c *Center) lendAgain(ctx context.Context, k *call, v view) (g lease.Grant, done bool, err error) {
	r, here := v.held, *k
	here.args = k.args.With(sqlconn.Args{"slot": r.worker})
	if r.floor < v.quarantine {
		r, err = c.swap(ctx, &here, k.grant(r), v)
		return k.grant(r), r.there, err
	}
	_, done, err = c.conn.Change(ctx, nil, "renew", here.args.With(sqlconn.Args{
		"token": r.token, "floor": r.floor, "ceiling": r.mark, "ttl": int64(0), "maxttl": int64(0),
	}))
	return k.grant(r), done, err
}

// proposed records that the pin may fall, and returns the new grant. Nothing depends on that record,
// so errors are ignored.
func (c *Center) proposed(ctx context.Context, k *call, g lease.Grant) lease.Grant {
	if pin := rules.Proposed(k.pin, g); pin != k.pin {
		_ = c.repin(ctx, k, k.pin, pin, g.Now, true)
		g.Pinned = k.pin
	}
	return g
}

func (k *call) grant(r record) lease.Grant {
	return lease.Grant{
		Request: k.req, Worker: r.worker, Token: r.token,
		Now: r.now, Floor: r.floor, Ceiling: r.mark, Since: r.since, Pinned: k.pin,
	}
}

// draw draws a ticket. It returns 0 if none is left, which is harmless: tickets only
// spread borrowers over the slots.
func (c *Center) draw(ctx context.Context, k *call) (ticket int64, err error) {
	ticket, _, err = c.conn.Change(ctx, nil, "ticket", k.args)
	if c.conn.UsedUp(err) {
		return 0, nil
	}
	return ticket, err
}

// claim tries the free slots in turn, each with one conditional update, until it wins
// one. It returns an empty record if it wins none. The ticket of the record is the
// previous holder's.
func (c *Center) claim(ctx context.Context, k *call, v view, ticket int64) (record, error) {
	at := k.req.First + ticket%(k.req.Last-k.req.First+1)
	if ticket == 0 {
		at = -1 // the least recently used
	}
	free, err := sqlconn.All(ctx, c.conn, nil, "free", k.args.With(sqlconn.Args{"slot": at}), func(r *record) []any {
		return []any{&r.now, &r.worker, &r.token, &r.ver, &r.ticket, &r.mark, &r.expires}
	})
	if err != nil {
		return record{}, err
	}
	for _, r := range free {
		if err := r.check(); err != nil {
			return record{}, err
		}
		s := r.slot().Lent(v.quarantine, r.now, k.by)
		n, err := c.conn.ExecOnce(ctx, "lend", k.lending(r, s, s.Expires-1, ticket))
		switch {
		case n > 0:
			return r.lent(s), nil
		case err != nil && !c.conn.Transient(err):
			return record{}, err
		}
	}
	return record{}, nil
}

// forget deletes a used ticket and some old ones that killed processes left. It ignores
// errors and gives up after a second, because nothing depends on tickets, but a grant that
// is answered late is lost.
func (c *Center) forget(ctx context.Context, k *call, ticket, newest int64) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, _ = c.conn.ExecOnce(ctx, "forget", k.args.With(sqlconn.Args{"ticket": ticket, "old": newest - 100*k.req.Pool}))
}
