package generator

import "time"

// A pacer combines two clocks: the center's clock, as far as a term knows it, and the
// lead clock, ahead of which a burst may run by MaxAhead. They differ only if the
// center's clock stepped back, or if the range begins above it. Then the lead clock
// goes on from where it was, or starts with the range, until the center's clock has
// caught up.
//
// Ids cannot go back, and the center extends the range only when its clock is within
// TTL of the range's end. The rest of the range must last until then. The lead clock
// therefore slows down so that both clocks meet MaxAhead before that end. Its pace is
// left/(left+back), at most 1, where back is how far the center's clock is behind and
// left is the rest of the range without MaxAhead.
//
// So no id lies more than MaxAhead above the beginning of the range or the highest time
// of the center's clock, whichever is later. The highest time is the one that the clock
// showed, or would show if it had not stepped back.
type pacer struct {
	anchor int64   // ns from the epoch to the generator's start, by the center's clock
	level  int64   // Elapsed in ns when the center's clock has caught up
	pace   float64 // of the lead clock until then
}

// lead returns the lead clock at mono, as the Elapsed at which the center's clock shows
// the same time.
func (p pacer) lead(mono int64) int64 {
	if mono >= p.level {
		return mono
	}
	return p.level - int64(float64(p.level-mono)*p.pace)
}

// setPace continues old's lead clock in t.
func (g *Generator) setPace(t *term, old pacer) {
	mono := g.mono()
	lead := max(old.anchor+old.lead(mono), t.lo>>g.seqBits*g.unit) - t.anchor
	if lead <= mono {
		return
	}
	t.level = max(lead, (t.hi>>g.seqBits-g.ahead)*g.unit-t.anchor)
	t.pace = float64(t.level-lead) / float64(t.level-mono)
}

// tick returns the center's time at mono, as far as t knows it, in ticks.
func (g *Generator) tick(t *term, mono int64) int64 {
	ns := t.anchor + mono
	if g.unit == int64(time.Millisecond) {
		return ns / int64(time.Millisecond) // dividing by a constant is much faster
	}
	return ns / g.unit
}

// leadTick returns the tick of the lead clock at mono, when the center's clock is at tick.
func (g *Generator) leadTick(t *term, mono, tick int64) int64 {
	if mono < t.level {
		return g.tick(t, t.lead(mono))
	}
	return tick
}

// until returns how long it takes until the lead allows v.
func (g *Generator) until(t *term, v int64) time.Duration {
	mono := (v>>g.seqBits-g.ahead)*g.unit - t.anchor
	if mono < t.level {
		mono = t.level - int64(float64(t.level-mono)/t.pace)
	}
	return time.Duration(max(1, mono-g.mono()))
}

// Lead returns how far the last id is ahead of the clock, or 0.
func (g *Generator) Lead() time.Duration {
	t := g.term.Load()
	if t.state != held {
		return 0
	}
	return time.Duration(max(0, g.last.Load()>>g.seqBits-g.tick(t, g.mono())) * g.unit)
}
