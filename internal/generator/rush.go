package generator

import (
	"sync/atomic"
	"time"
)

// Reading the clock costs several times as much as the rest of an id. During a rush, an id is one
// atomic add. NextID reads the clock only for one id in stride, including the first id of each
// tick. lead.go determines how far a burst may run ahead of the clock, and wait.go what happens
// then.
//
// A rush begins at sequence number rushBegin of a tick, if half of MaxAhead is left. It
// ends
//
//   - when an id needs more than the range and the lead allow, so that waiting callers do not
//     use up values;
//   - when the clock shows that the last id is more than a tick old, so that at a steady rate
//     no id is older than two ticks;
//   - when a caller that compares and swaps, such as one that takes a batch, has failed
//     rushTries times: on many cores, the callers that add would leave it no chance;
//   - when a goroutine that checks the rate every rushLook finds it below rushRate, so that no
//     id is old after a pause;
//   - with its term.
//
// If the rate drops suddenly while no processor is free for that goroutine, up to
// stride-1 ids after each pause carry the time of the last clock read. Ids of a goroutine
// that was preempted before it could use them are no younger.
//
// An id with a slightly old time is as safe as any: it is unique because its value was
// never taken before and lies within the range.
const (
	stride    = 32               // a power of 2
	rushBegin = 512              // a multiple of stride
	rushRate  = 256              // ids per millisecond
	rushLook  = time.Millisecond // how often the rate is checked
	rushTries = 64               // several times the need of a batch on two cores
)

// A rush is the state of a rush in a term.
type rush struct {
	end     atomic.Int64 // the last value that the last clock read allowed; 0 outside of a rush
	watched atomic.Bool  // a goroutine runs watch
}

// next is NextID for a business number, given as shifted bits. If once is set, next tries once
// and returns 0 if no id is available.
func (g *Generator) next(business int64, once bool) (int64, error) {
	t := g.term.Load()
	g.pause(loadedTerm)
	var v int64
	if end := t.end.Load(); end == 0 {
		v, t = g.oneByClock()
	} else {
		v = g.last.Add(1)
		g.pause(addedLast)
		// If t is still the term, it was the term at the time of the add. Any caller that replaces t
		// later raises last later, so v is below the values that another term may issue, and counts as
		// used.
		if v&(stride-1) == 0 || v > end || g.term.Load() != t {
			v, t = g.turn(t, v, end)
		}
	}
	switch {
	case t != nil:
		return g.id(t, v) | business, nil
	case once:
		return 0, nil
	}
	return g.nextSlow(business)
}

// turn reads the clock and moves the end of the rush, or ends the rush. It returns the value v
// that next has added or, if v is late, a value in the current tick. If t allows neither, turn
// drops the value and takes another according to the clock.
func (g *Generator) turn(t *term, v, end int64) (int64, *term) {
	mono := g.mono()
	tick := g.tick(t, mono)
	bound := g.bound(t, mono, tick)
	behind := tick - v>>(g.seqBits&63)
	if v > bound || behind > 1 {
		bound = 0
	}
	if v >= t.half {
		t.want()
	}
	if bound != end {
		t.end.CompareAndSwap(end, bound)
	}
	// The first caller in a tick moves last to that tick. It adds, because a compare-and-swap could
	// fail for as long as others add. Two callers that do so at the same moment move last beyond the
	// tick.
	if skip := tick<<(g.seqBits&63) - g.last.Load(); skip > 0 && behind == 1 {
		g.skipped.Add(skip)
		v = g.last.Add(skip)
		g.pause(addedLast)
	}
	if v <= bound && g.term.Load() == t {
		return v, t
	}
	g.skipped.Add(1)
	return g.oneByClock()
}

// oneByClock takes one value. The term is nil if no value is available.
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

// startRush begins a rush after v, and a goroutine that ends it.
func (g *Generator) startRush(t *term, v int64) {
	mono := g.mono()
	tick := g.tick(t, mono)
	if v>>(g.seqBits&63) > g.leadTick(t, mono, tick)+g.ahead/2 {
		return
	}
	g.pause(beganRush)
	t.end.Store(g.bound(t, mono, tick))
	if t.watched.CompareAndSwap(false, true) {
		go g.watch(t)
	}
}

// watch ends the rush of t when the rate falls.
func (g *Generator) watch(t *term) {
	for {
		made, at := g.made(), g.mono()
		for fast := true; fast && t.end.Load() != 0 && g.term.Load() == t; {
			time.Sleep(rushLook)
			m, a := g.made(), g.mono()
			fast = (m-made)*int64(time.Millisecond) >= rushRate*(a-at)
			made, at = m, a
		}
		t.end.Store(0)
		g.pause(endedRush)
		t.watched.Store(false)
		// A rush that has just begun has seen this goroutine and started no other.
		if t.end.Load() == 0 || !t.watched.CompareAndSwap(false, true) {
			return
		}
	}
}
