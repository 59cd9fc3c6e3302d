package keeper

import (
	"time"

	"github.com/snowlease/snowlease/lease"
)

// covered returns a renewed g with a ceiling at most the MaxTTL of the namespace above the center's
// clock, unless that of the range in use is later. A later one may be on record, as of a renewal by
// a clock that was ahead, whose answer was lost. No quarantine covers it.
//
// at is the generator's clock at the answer. If the center's clock was set back, the latest
// time that it has shown counts.
func (k *Keeper) covered(g lease.Grant, at time.Duration) lease.Grant {
	latest := max(g.Now, k.lent.Now+(at-k.lent.At).Milliseconds())
	g.Ceiling = min(g.Ceiling, max(k.lent.Ceiling, latest+max(k.cfg.Request.MaxTTL, g.Pinned.MaxTTL).Milliseconds()))
	return g
}
