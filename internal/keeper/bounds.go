package keeper

import (
	"time"

	"github.com/snowlease/snowlease/lease"
)

// asking returns the grant to pass to Renew. While ids run ahead of the clock and the floor, it
// has a longer TTL, so that the new ceiling lies TTL above the last id if the namespace allows
// that.
func (k *Keeper) asking() lease.Grant {
	g := k.grant
	ahead := k.cfg.Generator.Lead() - time.Duration(max(0, g.Floor-k.Now().UnixMilli()))*time.Millisecond
	g.TTL = min(g.TTL+max(0, ahead).Truncate(time.Millisecond), max(g.TTL, g.Pinned.Used()))
	g.MaxTTL = max(g.MaxTTL, g.TTL)
	return g
}

// grows returns the time of the center's clock from which a renewal can return a later ceiling
// than g has. A center of one host pins nothing; its ranges end TTL above the clock.
func grows(g lease.Grant) int64 {
	return g.Ceiling - max(g.TTL, g.Pinned.Used()).Milliseconds()
}

// covered returns a renewed g with its ceiling limited to the namespace's MaxTTL above the
// center's clock, unless the range in use ends later. If the center's clock was ahead during a
// renewal whose answer was lost, the center may have stored a later ceiling, which no quarantine
// covers.
//
// at is the generator's clock at the answer. If the center's clock was set back, the latest time
// that it ever showed counts.
func (k *Keeper) covered(g lease.Grant, at time.Duration) lease.Grant {
	latest := max(g.Now, k.lent.Now+(at-k.lent.At).Milliseconds())
	g.Ceiling = min(g.Ceiling, max(k.lent.Ceiling, latest+max(k.cfg.Request.MaxTTL, g.Pinned.MaxTTL).Milliseconds()))
	return g
}
