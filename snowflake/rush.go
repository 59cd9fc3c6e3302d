package snowflake

import "time"

// Reading the clock costs several times as much as the rest of an id. During a rush,
// NextID reads it only for one id in stride and for the first id of each tick. The ids
// between take the next value, in the tick of the id before.
//
// A rush begins at sequence number rushBegin of a tick. It ends
//
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

// next is NextID for a business number, given as shifted bits.
func (g *Generator) next(business int64) (int64, error) {
	if v, t := g.follow(); t != nil {
		return g.id(t, v) | business, nil
	}
	return g.nextByClock(business)
}

// follow reserves the value after last without reading the clock. If it reserves none,
// the term is nil.
func (g *Generator) follow() (int64, *term) {
	// As in take, load last before term, and swap against the value loaded.
	last := g.last.Load()
	g.pause(loadedLast)
	t := g.term.Load()
	g.pause(loadedTerm)
	// A tick begins at a multiple of stride, where the clock is read. The lead ends
	// with a tick, so ids in between cannot exceed it.
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

// States of term.rush. While it is not calm, one goroutine watches the rate.
const (
	calm    int32 = iota
	rushing       // NextID reads the clock for one id in stride
	easing        // the rush is over, but the goroutine has not noticed yet
)

// rush begins a rush and starts the goroutine that ends it.
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
