package snowflake

import "time"

// A pacer is the center's clock, as far as a term knows it, and the clock that the lead
// of a burst is measured from. The second is the first, except where the center's clock
// has been set back, or where the range begins above it: then the second goes on from
// where it was, or begins with the range, and the first catches up with it.
//
// Ids cannot go back, and the center extends no range before its own clock has come up
// to TTL before the range's end. So what is left of the range has to last until then:
// the second clock goes on at the pace at which both meet MaxAhead before the end of the
// range. That pace is left/(left+back), where back is how far the first is behind and
// left what is left of the range without MaxAhead. It is never more than 1, so no id
// lies further than MaxAhead above the highest time that the center's clock showed, or
// would show if it had gone on from there, or above the first of the range.
type pacer struct {
	anchor int64   // ns from the epoch to the generator's start, by the center's clock
	level  int64   // Elapsed in ns from which on both clocks are the same
	pace   float64 // of the second clock until then
}

// lead returns when, as Elapsed, the center's clock shows what the lead is measured from
// at mono.
func (p pacer) lead(mono int64) int64 {
	if mono >= p.level {
		return mono
	}
	return p.level - int64(float64(p.level-mono)*p.pace)
}

// setPace sets the clock of t that the lead is measured from. old is what it was until now.
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
