package snowflake

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"
)

// Adopt lets the generator issue within r: the first range of its life, or one of
// another grant, whose worker id may differ. Ids go on to rise across the change.
// It returns the last millisecond that was used within the range replaced, which
// is never below that range's floor, or 0 where there was none.
//
// Errors: a worker id or range that the layout cannot hold; ErrStopped.
func (g *Generator) Adopt(r Range) (lastUsed int64, err error) {
	t, err := g.newTerm(r)
	if err != nil {
		return 0, err
	}
	marker := none(swapping, pacer{})
	old := g.term.Load()
	for old.state == swapping || old.state != stopped && !g.term.CompareAndSwap(old, marker) {
		runtime.Gosched()
		old = g.term.Load()
	}
	if old.state == stopped {
		return 0, ErrStopped
	}
	g.pause(markedSwap)
	// From here on nobody loads the old term. An issuer that has loaded it fails,
	// since last moves; and all ids to come lie in a later tick, so that they rise
	// though the worker bits may fall. And none lies below the new floor.
	used := g.raise(func(last int64) int64 {
		t.raised = max(last|g.seqMask, t.lo-1, last+1)
		return t.raised
	})
	g.pause(raisedSwap)
	g.setPace(t, old.pacer)
	installed := g.term.CompareAndSwap(marker, t)
	close(old.ended)
	close(marker.ended)
	if !installed {
		return 0, ErrStopped
	}
	return g.lastUsed(old, used), nil
}

// Extend installs next as a renewal of prev, which must be the range that the
// generator has now, by value: a reply that comes late changes nothing. It reports
// whether it did. next has prev's worker and floor, and a ceiling not below prev's.
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
	t.raised, t.first = cur.raised, cur.first
	g.setPace(t, cur.pacer)
	g.pause(checkedExtend)
	// Never a plain store: it would revive a generator that stopped meanwhile.
	if !g.term.CompareAndSwap(cur, t) {
		return false
	}
	close(cur.ended)
	return true
}

// Stop ends issuing for good and returns the last millisecond that was used within
// the generator's range, which is never below the range's floor, or 0 where it had
// none. After it returns no id is issued.
func (g *Generator) Stop() (lastUsed int64) {
	old := g.term.Swap(none(stopped, pacer{}))
	g.pause(markedStop)
	// An issuer that has loaded the old term fails from here on, since last moves.
	used := g.raise(func(last int64) int64 { return last + 1 })
	if old.state == stopped {
		return 0
	}
	if old.state != swapping { // Adopt closes its marker itself
		close(old.ended)
	}
	return g.lastUsed(old, used)
}

// Drop takes the generator's range away: no id is issued until another is adopted.
// It returns the last millisecond that was used within the range, which is never
// below the range's floor, or 0 where there was none. After it returns no id of
// that range is issued.
func (g *Generator) Drop() (lastUsed int64) {
	old := g.term.Load()
	for old.state != stopped && (old.state == swapping || !g.term.CompareAndSwap(old, none(notStarted, old.pacer))) {
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

// raise moves last and returns the value it had.
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

// lastUsed returns the end of the last tick used under t, of which used is the
// value of last when t ended. It is not below t's floor, to which Adopt raised last.
func (g *Generator) lastUsed(t *term, used int64) int64 {
	if t.state != held {
		return 0
	}
	return g.layout.endOf(used >> g.seqBits)
}

func (g *Generator) newTerm(r Range) (*term, error) {
	if r.Worker < 0 || r.Worker >= g.layout.Workers() {
		return nil, fmt.Errorf("snowflake: worker id %d is not 0 to %d", r.Worker, g.layout.Workers()-1)
	}
	first, last := g.layout.Ticks(r.Floor, r.Ceiling)
	if r.Floor >= r.Ceiling || first > last {
		return nil, fmt.Errorf("snowflake: the range of time (%d, %d] ms holds no whole tick of %v of the layout %v",
			r.Floor, r.Ceiling, g.layout.TimeUnit, g.layout)
	}
	return &term{
		Range:  r,
		state:  held,
		lo:     first << g.seqBits,
		hi:     last<<g.seqBits | g.seqMask,
		prefix: r.Worker << (g.layout.BusinessBits + g.layout.SequenceBits),
		first:  rand.Int64() & g.spread,
		pacer:  pacer{anchor: (r.Now-g.layout.Epoch)*int64(time.Millisecond) - int64(r.At)},
		ended:  make(chan struct{}),
	}, nil
}
