package dbseq

import (
	"context"

	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/internal/sqlconn"
	"github.com/snowlease/snowlease/lease"
)

// Renew raises the ceiling of g, in one statement while g is what the center has on
// record. It does not read the records of other worker ids: their holders and borrowers
// detect a loss there. Its errors are the errors of lease.Center and lease.ErrDamaged.
func (c *Center) Renew(ctx context.Context, g lease.Grant) (renewed lease.Grant, err error) {
	if err := g.Validate(); err != nil {
		return lease.Grant{}, err
	}
	k := c.newCall(g.Request, g.Pinned, false)
	err = c.verb(ctx, k, "renew the worker id", func(ctx context.Context) (err error) {
		renewed, err = c.renew(ctx, k, g)
		return err
	})
	if err != nil {
		return lease.Grant{}, err
	}
	return renewed, nil
}

func (c *Center) renew(ctx context.Context, k *call, g lease.Grant) (lease.Grant, error) {
	k.args["slot"] = g.Worker
	held := g                                     // probably the recorded grant
	looked := k.pin.Change == (lease.PinChange{}) // else the look goes on with the change
	for range sqlconn.Rounds {
		if looked {
			k.args["token"], k.args["floor"], k.args["ceiling"] = held.Token, held.Floor, held.Ceiling
			now, done, err := c.conn.Change(ctx, nil, "renew", k.args)
			if err != nil {
				return lease.Grant{}, err
			}
			if done {
				by := held
				by.Request = k.by
				// The update has stored at least this ceiling.
				held.Pinned, held.Now, held.Ceiling = k.pin, now, rules.Slot{Floor: held.Floor}.Extended(now, by).Mark
				return held, nil
			}
		}
		v, err := c.survey(ctx, k)
		if err != nil {
			return lease.Grant{}, err
		}
		r := v.held
		switch {
		case !r.there || r.expires < v.now+k.args["skew"].(int64):
			return lease.Grant{}, lease.ErrLost
		case r.floor < v.quarantine:
			swapped, err := c.swap(ctx, k, g, v)
			if err != nil || swapped.there {
				return k.grant(swapped), err
			}
		case r.token < g.Token: // the record is older than g: a later grant was forgotten
			return lease.Grant{}, lease.ErrLost
		}
		r.mark = max(r.mark, g.Ceiling)
		looked = true
		held = k.grant(r) // of an earlier renewal, whose reply was lost
	}
	return lease.Grant{}, sqlconn.Unsettled()
}

// swap lends the worker id of g to its holder again, above the quarantine: times below
// it may have been lent and forgotten. It returns an empty record if the row has changed
// since the look, or another server answers.
func (c *Center) swap(ctx context.Context, k *call, g lease.Grant, v view) (record, error) {
	r := v.held
	if err := rules.Quarantined(v.reason, max(r.mark, v.quarantine), v.now, k.pin, k.by); err != nil {
		return record{}, err
	}
	by := g
	by.Request = k.by
	s := r.slot().Raised(v.quarantine, v.now, g).Extended(v.now, by)
	n, err := c.conn.Exec(ctx, nil, "lend", k.lending(r, s, r.expires-k.args["skew"].(int64), r.ticket))
	if err != nil || n == 0 {
		return record{}, err
	}
	return r.lent(s), nil
}
