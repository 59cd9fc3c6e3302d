package snowflake

import "time"

// A pacer is two clocks: the center's, as far as a term knows it, and that of the lead,
// which a burst may run ahead of by MaxAhead. They are the same but where the center's
// clock was set back, and where the range begins above it. The clock of the lead then
// goes on from where it was, or begins with the range, and the center's catches up.
//
// Ids cannot go back, and the center extends the range only when its clock is within TTL
// of the range's end. What is left of the range has to last until then, so the clock of
// the lead goes on at the pace at which both clocks meet MaxAhead before that end:
// left/(left+back), where back is how far the center's clock is behind, and left what is
// left of the range without MaxAhead. The pace is at most 1. So no id lies further than
// MaxAhead above the highest time that the center's clock showed, or would show had it
// gone on from there, or above the beginning of the range.
type pacer struct {
	anchor int64   // ns from the epoch to the generator's start, by the center's clock
	level  int64   // Elapsed, ns, when the center's clock catches up
	pace   float64 // of the clock of the lead until then
}

// lead returns the clock of the lead at mono, as the Elapsed at which the center's clock
// shows the same.
func (p pacer) lead(mono int64) int64 {
	if mono >= p.level {
		return mono
	}
	return p.level - int64(float64(p.level-mono)*p.pace)
}

// setPace lets t's clock of the lead go on from old's.
func (g *Generator) setPace(t *term, old pacer) {
	mono := g.mono()
	lead := max(old.anchor+old.lead(mono), t.lo>>g.seqBits*g.unit) - t.anchor
	if lead <= mono {
		return
	}
	t.level = max(lead, (t.hi>>g.seqBits-g.ahead)*g.unit-t.anchor)
	t.pace = float64(t.level-lead) / float64(t.level-mono)
}

// tick returns the center's time at mono as far as t knows it.
func (g *Generator) tick(t *term, mono int64) int64 {
	ns := t.anchor + mono
	if g.unit == int64(time.Millisecond) {
		return ns / int64(time.Millisecond) // a division by a constant is much faster
	}
	return ns / g.unit
}

// until returns how long it takes until the lead allows the value v, which it does not.
func (g *Generator) until(t *term, v int64) time.Duration {
	mono := (v>>g.seqBits-g.ahead)*g.unit - t.anchor
	if mono < t.level {
		mono = t.level - int64(float64(t.level-mono)/t.pace)
	}
	return time.Duration(max(1, mono-g.mono()))
}

// Lead returns how far the last id lies ahead of the clock, or 0.
func (g *Generator) Lead() time.Duration {
	t := g.term.Load()
	if t.state != held {
		return 0
	}
	return time.Duration(max(0, g.last.Load()>>g.seqBits-g.tick(t, g.mono())) * g.unit)
}
