package snowflake

import "time"

// Reading the clock takes several times as long as all else of an id. In a rush NextID
// reads it for one id of stride, and for the first id of each tick; the ids between
// take the next value, in the tick that the last one had.
//
// A rush begins with the id that is number rushBegin of its tick. It ends when the clock
// shows the last id to be older than a tick, so that at no steady rate ids are older than
// two; when a goroutine that looks each millisecond finds less than rushRate, so that
// none is after a pause; and with its term. Where the rate falls at once and no
// processor is free for that goroutine, up to stride-1 ids have the time of the last
// look: as ids of a goroutine that was preempted with them in its hand.
//
// An id whose time is a little old is as safe as any: what keeps it unique is that its
// value was never taken and lies within the range.
const (
	stride    = 16               // a power of 2
	rushBegin = 512              // a multiple of stride, above where a tick begins
	rushRate  = 256              // ids a millisecond
	rushLook  = time.Millisecond // how often the rate is looked at
)

// next is NextID with the bits of a business number.
func (g *Generator) next(business int64) (int64, error) {
	if v, t := g.follow(); t != nil {
		return g.id(t, v) | business, nil
	}
	return g.nextByClock(business)
}

// follow reserves the value after last, without the clock. Where it reserves none the
// term is nil.
func (g *Generator) follow() (int64, *term) {
	// As in take: last before term, and the value that goes into the id is compared.
	last := g.last.Load()
	g.pause(loadedLast)
	t := g.term.Load()
	g.pause(loadedTerm)
	// A tick begins with a multiple of stride: the lead, which ends with a tick, is as
	// the clock has allowed it.
	if v := last + 1; t.rush.Load() == rushing && v&(stride-1) != 0 && v <= t.hi && g.last.CompareAndSwap(last, v) {
		return v, t
	}
	return 0, nil
}

func (g *Generator) nextByClock(business int64) (int64, error) {
	v, n, t := g.take(1)
	if n == 0 {
		id, err := g.nextSlow()
		if err != nil {
			return 0, err
		}
		return id | business, nil
	}
	if v&g.seqMask == rushBegin && g.clock == nil {
		g.rush(t)
	}
	return g.id(t, v) | business, nil
}

// What the rush of a term can be. One goroutine looks at it unless it is calm.
const (
	calm    int32 = iota
	rushing       // NextID reads the clock for one id of stride
	easing        // the rush is over, and the goroutine has not seen it yet
)

// rush begins a rush and looks when it ends.
func (g *Generator) rush(t *term) {
	if !t.rush.CompareAndSwap(calm, rushing) {
		return
	}
	go func() {
		defer t.rush.Store(calm)
		made, at := g.made(), g.mono()
		for t.rush.Load() == rushing && g.term.Load() == t {
			time.Sleep(rushLook)
			m, a := g.made(), g.mono()
			if (m-made)*int64(time.Millisecond) < rushRate*(a-at) {
				return
			}
			made, at = m, a
		}
	}()
}
