package snowflake

import (
	"sync/atomic"
	"time"
)

// Reading the clock costs several times as much as the rest of an id. During a rush, an
// id is one atomic add. NextID reads the clock only for one id in stride, the first id
// of each tick among them.
//
// A rush begins at sequence number rushBegin of a tick, if half of MaxAhead is left. It
// ends
//
//   - when an id needs more than the range and the lead allow, so that callers who wait
//     do not use up values;
//   - when the clock shows that the last id is more than a tick old, so that at a
//     steady rate no id is older than two ticks;
//   - when a goroutine that checks the rate every rushLook finds it below rushRate, so
//     that no id is old after a pause;
//   - with its term.
//
// If the rate drops suddenly while no processor is free for that goroutine, up to
// stride-1 ids carry the time of the last clock read. Ids of a goroutine that was
// preempted before it could use them are no younger.
//
// An id with a slightly old time is as safe as any: it is unique because its value was
// never taken before and lies within the range.
const (
	stride    = 16               // a power of 2
	rushBegin = 512              // a multiple of stride, above the first sequence number of a tick
	rushRate  = 256              // ids per millisecond
	rushLook  = time.Millisecond // how often the rate is checked
)

// A rush is the state of a rush in a term.
type rush struct {
	end     atomic.Int64 // the last value that the last clock read allowed; 0 outside of a rush
	tick    atomic.Int64 // the last tick that the rush has moved last to
	watched atomic.Bool  // a goroutine checks the rate, also shortly after the rush
}

// next is NextID for a business number, given as shifted bits.
func (g *Generator) next(business int64) (int64, error) {
	v, t := g.one()
	if t == nil {
		id, err := g.nextSlow()
		if err != nil {
			return 0, err
		}
		return id | business, nil
	}
	return g.id(t, v) | business, nil
}

// one takes one value. The term is nil if none is left at the moment.
func (g *Generator) one() (int64, *term) {
	t := g.term.Load()
	g.pause(loadedTerm)
	if end := t.end.Load(); end != 0 {
		v := g.last.Add(1)
		g.pause(addedLast)
		// If t is still the term, it was so at the add. Whoever replaces t later raises
		// last later, so v is below what another term may issue, and counts as used.
		if v&(stride-1) != 0 && v <= end && g.term.Load() == t {
			return v, t
		}
		if v, t := g.turn(t, v, end); t != nil {
			return v, t
		}
	}
	return g.oneByClock()
}

// turn reads the clock and decides about a value v that one has added. A value that it
// refuses is lost.
func (g *Generator) turn(t *term, v, end int64) (int64, *term) {
	mono := g.mono()
	tick := g.tick(t, mono)
	bound := g.bound(t, mono, tick)
	behind := tick - v>>(g.seqBits&63)
	if v > bound || behind > 1 {
		t.end.CompareAndSwap(end, 0)
		g.skipped.Add(1)
		return 0, nil
	}
	if bound != end {
		t.end.CompareAndSwap(end, bound)
	}
	if at := t.tick.Load(); behind > 0 && at < tick && t.tick.CompareAndSwap(at, tick) {
		// One caller moves last to the new tick. It adds, since a compare-and-swap would
		// fail as long as others add.
		skip := tick<<(g.seqBits&63) - v
		g.skipped.Add(skip)
		v = g.last.Add(skip)
		g.pause(addedLast)
	}
	if v > bound || g.term.Load() != t {
		g.skipped.Add(1)
		return 0, nil
	}
	return v, t
}

func (g *Generator) oneByClock() (int64, *term) {
	v, n, t := g.take(1)
	if n == 0 {
		return 0, nil
	}
	if v&g.seqMask == rushBegin && g.clock == nil {
		g.startRush(t, v)
	}
	return v, t
}

// startRush begins a rush after v and starts the goroutine that ends it.
func (g *Generator) startRush(t *term, v int64) {
	mono := g.mono()
	bound := g.bound(t, mono, g.tick(t, mono))
	if v > bound-g.ahead/2<<(g.seqBits&63) || !t.watched.CompareAndSwap(false, true) {
		return
	}
	g.pause(beganRush)
	t.end.Store(bound)
	go func() {
		defer t.watched.Store(false)
		defer t.end.Store(0)
		made, at := g.made(), g.mono()
		for t.end.Load() != 0 && g.term.Load() == t {
			time.Sleep(rushLook)
			m, a := g.made(), g.mono()
			if (m-made)*int64(time.Millisecond) < rushRate*(a-at) {
				return
			}
			made, at = m, a
		}
	}()
}
