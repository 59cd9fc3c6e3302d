package generator

import "time"

// A pacer combines two clocks: the center's clock, as far as the term has seen it, and the lead
// clock, ahead of which a burst may run by MaxAhead. The two differ only while the last id lies
// ahead of the center's clock because that clock stepped back, or because the range begins above
// it. The lead clock then continues from the last id, or starts with the range, or as much
// earlier as the last id was ahead of it before.
//
// The lead clock runs at most at the pace fastest, so that the two clocks eventually meet. A
// range that begins above the center's clock grows as fast as that clock, if its holder renews
// whenever half of the range is used. The lead clock runs more slowly in two cases:
//
//   - The center extends the range only from Range.Grows onward, because its clock stepped back.
//     The rest of the range, except the reserve, is spread over the time until then.
//   - Less than reserve is left. The lead clock slows down by up to a third, so that the range
//     lasts from one renewal to the next.
//
// So no id lies more than MaxAhead above the highest time of the center's clock, or above a
// clock that began with the range, whichever is later. The highest time is the one that the
// clock showed, or would show if it had not stepped back.
type pacer struct {
	anchor int64   // ns from the epoch to the generator's start, on the center's clock
	level  int64   // Elapsed in ns when the center's clock catches up with the lead clock
	from   int64   // Elapsed in ns when the lead clock showed start
	start  int64   // as the Elapsed at which the center's clock shows the same time
	pace   float64 // of the lead clock from then until level
}

// fastest is a little less than the pace of the center's clock.
const fastest = 127.0 / 128

// reserve is how much of a range remains for the time that a renewal takes.
const reserve = 300 * time.Millisecond

// never is a value that last does not reach.
const never = 1<<63 - 1

// lead returns the lead clock at mono, as the Elapsed at which the center's clock shows
// the same time.
func (p pacer) lead(mono int64) int64 {
	if mono >= p.level {
		return mono
	}
	return p.start + int64(float64(mono-p.from)*p.pace)
}

// leadAt returns the lead clock at mono in ns since the epoch, and how far a value of last is
// ahead of that clock.
func (g *Generator) leadAt(p pacer, mono, last int64) (lead, ahead int64) {
	if p == (pacer{}) { // before the first range, or after a stop
		return 0, 0
	}
	lead = p.anchor + p.lead(mono)
	return lead, max(0, last>>g.seqBits*g.unit-lead)
}

// setPace begins the lead clock of t at a time, in ns since the epoch, or at the last id or
// MaxAhead below the end of the range, whichever is earliest. It also sets when half of the range
// is used.
func (g *Generator) setPace(t *term, at int64) {
	mono, next := g.mono(), g.last.Load()+1
	end := t.hi>>g.seqBits*g.unit - t.anchor
	lead := min(at-t.anchor, next>>g.seqBits*g.unit-t.anchor, end-g.ahead*g.unit)
	wait := (t.Grows-t.Now)*int64(time.Millisecond) + int64(t.At) - mono
	t.half = never
	if wait <= 0 {
		next = max(next, t.lo, g.tick(t, mono)<<g.seqBits)
		t.half = next + (t.hi-next)/2
	}
	if lead <= mono {
		return
	}
	rest, pace := end-g.ahead*g.unit-lead, fastest
	switch {
	case wait > 0:
		pace = min(pace, float64(rest-min(rest/2, int64(reserve)))/float64(wait))
	case rest < int64(reserve):
		pace -= float64(int64(reserve)-rest) / float64(time.Second)
	}
	t.from, t.start, t.pace = mono, lead, pace
	t.level = mono + int64(float64(lead-mono)/(1-pace))
}

// tick returns the center's time at mono, as far as t has seen it, in ticks.
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
		mono = t.from + int64(float64(mono-t.start)/max(t.pace, 1e-9)) + 1 // rounded up
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
