package dbseq

import (
	"context"

	"github.com/snowlease/snowlease/lease"
)

// Renew raises the ceiling of g. It takes 2 statements. Errors are those of lease.Center
// and ErrDamaged.
func (c *Center) Renew(ctx context.Context, g lease.Grant) (renewed lease.Grant, err error) {
	if err := g.Validate(); err != nil {
		return lease.Grant{}, err
	}
	k := c.newCall(g.Request, false)
	err = c.verb(ctx, k, "renew the worker id", func() (err error) {
		renewed, err = c.renew(ctx, k, g)
		return err
	})
	if err != nil {
		return lease.Grant{}, err
	}
	return renewed, nil
}

func (c *Center) renew(ctx context.Context, k *call, g lease.Grant) (lease.Grant, error) {
	k.args["slot"], k.args["token"], k.args["ceiling"] = g.Worker, g.Token, g.Ceiling
	for range rounds {
		v, err := c.survey(ctx, k)
		if err != nil {
			return lease.Grant{}, err
		}
		r, change := v.held, "renew"
		switch {
		case !k.unexpired(r):
			return lease.Grant{}, lease.ErrLost
		case r.floor < v.quarantine:
			// Times below the quarantine may have been lent and forgotten, so the holder
			// gets another range above it.
			if err := k.quarantined(v.now, max(r.mark, v.quarantine), v.reason); err != nil {
				return lease.Grant{}, err
			}
			change = "swap"
		case r.token < g.Token: // the record is older than g: a later grant was forgotten
			return lease.Grant{}, lease.ErrLost
		}
		now, done, err := c.change(ctx, change, k.args.with(args{"ver": r.ver}))
		if err != nil {
			return lease.Grant{}, err
		}
		if !done {
			continue // the row has changed since the look, or another server answers
		}
		// The update checked the version, so the row was as read, and its new values can
		// be computed here.
		if r.now = now; r.floor < v.quarantine {
			r.token, r.floor = max(r.token, g.Token, now)+1, max(r.mark, v.quarantine, now-1)
		}
		r.mark = max(r.mark, g.Ceiling, k.ceiling(r.floor, now))
		return k.grant(r), nil
	}
	return lease.Grant{}, unsettled()
}
