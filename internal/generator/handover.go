package generator

import (
	"fmt"
	"runtime"
	"time"
)

// Adopt lets the generator issue ids within r, which is its first range or a range of another
// grant, whose worker id may differ. Ids keep ascending across the change. Adopt returns the last
// millisecond used within the replaced range, which is never below that range's floor, or 0 if
// there was no such range.
//
// Adopt fails if the layout has no such worker id, if r contains no whole tick of the layout, or
// with ErrClosed. The generator then keeps its previous range. If it was stopped during the call,
// Adopt returns ErrClosed and the last use.
func (g *Generator) Adopt(r Range) (lastUsed int64, err error) {
	t, err := g.newTerm(r)
	if err != nil {
		return 0, err
	}
	old := g.term.Load()
	marker := none(swapping, old.drops, pacer{})
	for old.state == swapping || old.state != stopped && !g.term.CompareAndSwap(old, marker) {
		runtime.Gosched()
		old = g.term.Load()
		marker.drops = old.drops
	}
	if old.state == stopped {
		return 0, ErrClosed
	}
	t.drops = old.drops
	g.pause(markedSwap)
	// From here on nobody loads the old term. An issuer that loaded it earlier already has its value
	// or gets none: take fails because last moves, and next because the term has changed. Later ids
	// lie in a later tick, so they ascend even if the worker id is lower, and no id lies below the
	// new floor.
	used := g.raise(func(last int64) int64 {
		return max(last|g.seqMask, t.lo-1, last+1)
	})
	g.pause(raisedSwap)
	lead, ahead := g.leadAt(old.pacer, g.mono(), used)
	g.setPace(t, max(lead, t.lo>>g.seqBits*g.unit-ahead))
	installed := g.term.CompareAndSwap(marker, t)
	close(old.ended)
	close(marker.ended)
	if !installed {
		err = ErrClosed
	}
	return g.lastUsed(old, used), err
}

// Extend installs next as a renewal of prev and reports whether it did. It does so only
// if prev equals the current range, so that a late reply changes nothing, and if next has
// prev's worker and floor and a ceiling not below prev's.
func (g *Generator) Extend(prev, next Range) bool {
	cur := g.term.Load()
	if cur.state != held || cur.Range != prev ||
		next.Worker != prev.Worker || next.Floor != prev.Floor || next.Ceiling < prev.Ceiling {
		return false
	}
	t, err := g.newTerm(next)
	if err != nil {
		return false
	}
	t.drops = cur.drops
	g.setPace(t, cur.anchor+cur.lead(g.mono()))
	g.pause(checkedExtend)
	// A plain store could revive a generator that has just stopped.
	if !g.term.CompareAndSwap(cur, t) {
		return false
	}
	close(cur.ended)
	return true
}

// Wanted returns a channel that is closed when callers have used half of the current range, if a
// renewal can extend it. Otherwise the channel stays open until another range is installed.
func (g *Generator) Wanted() <-chan struct{} { return g.term.Load().wanted }

// want closes wanted.
func (t *term) want() {
	if !t.asked.Load() && t.asked.CompareAndSwap(false, true) {
		close(t.wanted)
	}
}

// RenewalFailed records that an attempt to renew the current range has failed. From then on, a
// burst that has used up the range gets ErrLeaseExpired, as after the end of the range.
func (g *Generator) RenewalFailed() { g.term.Load().failing.Store(true) }

// Stop ends issuing. No id is issued after its return until Resume and Adopt. Stop returns the
// last millisecond used within the generator's range, which is never below the range's floor. It
// returns 0 if the generator had no range, was already stopped, or is within Adopt, which then
// returns the last use.
func (g *Generator) Stop() (lastUsed int64) {
	old := g.term.Load()
	for !g.term.CompareAndSwap(old, none(stopped, old.drops, pacer{})) {
		old = g.term.Load()
	}
	g.pause(markedStop)
	// As in Adopt, an issuer that has loaded the old term already has its value or gets none. So
	// used covers every id.
	used := g.raise(func(last int64) int64 { return last + 1 })
	if old.state == stopped {
		return 0
	}
	if old.state != swapping { // Adopt closes its marker itself
		close(old.ended)
	}
	return g.lastUsed(old, used)
}

// Resume lets a generator that was stopped adopt a range again. Its ids ascend across the stop. A
// NextIDs that began before the stop starts again, as after a Drop.
func (g *Generator) Resume() {
	if old := g.term.Load(); old.state == stopped {
		g.term.CompareAndSwap(old, none(notStarted, old.drops+1, pacer{}))
	}
}

// Drop takes the generator's range away. After it returns, no id of that range is issued, and
// none at all until another range is adopted. A NextIDs that waits starts again. Drop returns the
// last millisecond used within the range, which is never below the range's floor, or 0 if there
// was no range.
func (g *Generator) Drop() (lastUsed int64) {
	old := g.term.Load()
	for old.state != stopped && (old.state == swapping || !g.term.CompareAndSwap(old, none(notStarted, old.drops+1, old.pacer))) {
		runtime.Gosched()
		old = g.term.Load()
	}
	if old.state == stopped {
		return 0
	}
	g.pause(markedStop)
	used := g.raise(func(last int64) int64 { return last + 1 }) // as in Stop
	close(old.ended)
	return g.lastUsed(old, used)
}

// raise moves last to to(last) and returns its previous value.
func (g *Generator) raise(to func(int64) int64) int64 {
	for {
		last := g.last.Load()
		next := to(last)
		g.skipped.Add(next - last)
		if g.last.CompareAndSwap(last, next) {
			return last
		}
		g.skipped.Add(last - next)
	}
}

// lastUsed returns the end of the last tick used under t, given the value of last when t ended.
// That value may lie above t; t then issued none of the values above it. It is not below the
// floor of t, because Adopt raised last to that floor.
func (g *Generator) lastUsed(t *term, used int64) int64 {
	if t.state != held {
		return 0
	}
	return g.layout.TickTime(min(used, t.hi)>>g.seqBits+1).UnixMilli() - 1
}

func (g *Generator) newTerm(r Range) (*term, error) {
	if r.Worker < 0 || r.Worker >= g.layout.Workers() {
		return nil, fmt.Errorf("snowflake: worker id %d is not 0 to %d", r.Worker, g.layout.Workers()-1)
	}
	first, last := g.layout.Ticks(r.Floor, r.Ceiling)
	if r.Floor >= r.Ceiling || first > last {
		return nil, fmt.Errorf("snowflake: the time range (%d, %d] ms contains no whole tick of %v of the layout %v",
			r.Floor, r.Ceiling, g.layout.TimeUnit, g.layout)
	}
	return &term{
		Range:  r,
		state:  held,
		lo:     first << g.seqBits,
		hi:     last<<g.seqBits | g.seqMask,
		prefix: r.Worker << (g.layout.BusinessBits + g.layout.SequenceBits),
		salt:   uint64(r.Worker) << 48,
		pacer:  pacer{anchor: (r.Now-g.layout.TickTime(0).UnixMilli())*int64(time.Millisecond) - int64(r.At)},
		ended:  make(chan struct{}),
		wanted: make(chan struct{}),
	}, nil
}
