package keeper

import (
	"fmt"
	"time"

	"github.com/snowlease/snowlease/lease"
)

// behind is how far behind its marks a center may lend: up to 24 h by hostseq.Config.MaxBehind,
// and up to 2 h by its MaxAhead.
const behind = 26 * time.Hour

// bounded returns g with a ceiling at most MaxTTL above the center's clock, unless that of the
// range in use is later. No center lends above that, and no quarantine covers it, so somebody
// else has raised the mark. If a floor lies further ahead than any center lends, ids would leap
// there: it returns lease.ErrDamaged.
//
// at is the generator's clock at the answer. If the center's clock was set back, the latest
// time that it has shown counts.
func (k *Keeper) bounded(g lease.Grant, at time.Duration) (lease.Grant, error) {
	latest, reach := g.Now, k.cfg.Request.MaxTTL.Milliseconds()
	slack := k.cfg.Request.Skew + behind
	if k.grant != (lease.Grant{}) { // a renewal
		latest = max(latest, k.lent.Now+(at-k.lent.At).Milliseconds())
		slack -= behind
		g.Ceiling = min(g.Ceiling, max(k.lent.Ceiling, latest+reach))
	}
	if g.Floor != k.lent.Floor && g.Floor > latest+reach+slack.Milliseconds() {
		return g, fmt.Errorf("%w: worker id %d of %q got the floor %s: undo what another program wrote to the store; this process then goes on",
			lease.ErrDamaged, g.Worker, g.Namespace, time.UnixMilli(g.Floor).UTC().Format(time.RFC3339))
	}
	return g, nil
}
