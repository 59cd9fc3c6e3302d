package dbseq

import (
	"context"

	"github.com/snowlease/snowlease/idworker/lease"
)

// Renew raises the ceiling of g, in 2 statements. See lease.Center.
func (c *Center) Renew(ctx context.Context, g lease.Grant) (renewed lease.Grant, err error) {
	if err := g.Validate(); err != nil {
		return lease.Grant{}, err
	}
	k := newCall(g.Request, false)
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
	for range rounds {
		v, err := c.survey(ctx, k)
		if err != nil {
			return g, err
		}
		// The mark that is higher is of an earlier renewal whose reply was lost.
		ceiling := max(g.Ceiling, v.mark)
		a := k.args.with(args{"slot": g.Worker, "token": g.Token, "floor": g.Floor, "since": g.Since, "ceiling": ceiling})
		now, done, err := c.change(ctx, k.q, k.q.renew, a)
		if err != nil {
			return g, err
		}
		if done {
			g.Now, g.Ceiling = now, max(ceiling, now+ms(g.TTL))
			return g, nil
		}

		r, err := c.record(ctx, k, g.Worker)
		unexpired := r.expires >= r.now+ms(g.Skew)
		switch {
		case err != nil:
			return g, err
		case !r.there || !r.quarantine.Valid || k.holds(r, g.Token) && unexpired:
			continue // lost since the look, or another server
		case r.quarantine.Int64 >= r.now && r.owner == a["owner"] && r.token > g.Token && r.floor == g.Floor && unexpired:
			g.Token = r.token // the reply to an earlier re-take was lost
		case r.quarantine.Int64 < r.now || g.Ceiling <= r.now+ms(g.Skew):
			return g, lease.ErrLost
		case g.Ceiling <= r.quarantine.Int64-ms(g.MaxTTL) || (r.owner == "" || r.expires < r.now) && r.mark > r.quarantine.Int64:
			// Where the clock has stepped back: its ceiling lay ahead when the quarantine
			// began, and the worker was not lent after it had ended.
			return g, lease.ErrLost
		case r.expires >= r.now:
			return g, k.quarantined(r.now, r.quarantine.Int64, v.reason)
		default:
			a["ver"], a["ceiling"] = r.ver, g.Ceiling
			now, done, err := c.change(ctx, k.q, k.q.retake, a)
			if err != nil {
				return g, err
			}
			if done {
				g.Now, g.Token = now, max(r.token, g.Token, now)+1
				g.Ceiling = max(r.mark, g.Ceiling, now+ms(g.TTL))
				return g, nil
			}
		}
	}
	return g, c.unsettled()
}
