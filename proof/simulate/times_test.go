package simulate

import (
	"math/bits"
	"slices"
	"time"
)

// times returns those with an index: 0 for those of the plan, or one more than that of Others.
func (p Plan) times(i int) Times {
	if i == 0 {
		return Times{p.MaxTTL, p.MaxTTL, p.Skew}
	}
	return p.Others[i-1]
}

// most returns the greatest times of any member.
func (p Plan) most() Times {
	t := p.times(0)
	for _, o := range p.Others {
		t = Times{max(t.TTL, o.TTL), max(t.MaxTTL, o.MaxTTL), max(t.Skew, o.Skew)}
	}
	return t
}

// least returns the smallest times of any member.
func (p Plan) least() Times {
	t := p.times(0)
	for _, o := range p.Others {
		t = Times{min(t.TTL, o.TTL), min(t.MaxTTL, o.MaxTTL), min(t.Skew, o.Skew)}
	}
	return t
}

// drawTimes makes members differ: from the start, and by deployments and their rollbacks. A loss
// leaves something that shows how long grants may last, but it may be any of the records.
func drawTimes(d draws, p *Plan, lossy bool) {
	p.New = false
	for range d.one("others", 1, 2) {
		maxTTL := p.MaxTTL * time.Duration(d.one("other MaxTTL", 4, 6, 1, 2)) / 2
		t := Times{maxTTL, maxTTL, (maxTTL * time.Duration(d.one("other skew", 10, 0, 25)) / 100).Truncate(time.Millisecond)}
		if d.yes("shorter TTL") && t.TTL/2 >= max(100*time.Millisecond, 2*t.Skew, 10*p.Layout.TimeUnit) {
			t.TTL /= 2
		}
		p.Others = append(p.Others, t)
	}
	one := func(name string) int { return d.int(name, 0, len(p.Others)) }
	p.Opened = one("opened")
	for i := range p.Nodes {
		p.Nodes[i].Times = one("times")
	}
	kinds := []Kind{Deploy}
	switch {
	case p.Calm: // a loss while the times rise is waited out by the new ones, with ranges by the former
		p.Faults = slices.DeleteFunc(p.Faults, func(f Fault) bool { return f.Kind.loses() })
	case lossy:
		kinds = append(kinds, DropSome)
	}
	for i := range p.Faults {
		if f := &p.Faults[i]; f.Kind == Wipe {
			f.Kind, f.N = DropSome, d.some(*p)
		}
	}
	for range d.int("more faults", 1, 6) {
		f := drawFault(d, *p, kinds)
		f.For, f.N = d.span("for", p.MaxTTL/4)+time.Millisecond, one("times")
		if f.Kind == DropSome {
			f.For, f.N = 0, d.some(*p)
		}
		p.Faults = append(p.Faults, f)
	}
}

// some draws which records are lost.
func (d draws) some(p Plan) int { return d.int("records", 0, 1<<(2*p.Pool+3)-1) }

// A record is one that Store.Lose loses.
type record struct {
	what   Kind
	worker int64
}

// some returns the records that bits say, in the order in which they are lost until only one is left
// that shows how long grants may last.
func (p Plan) some(which int) (lost []record) {
	all := []record{{DropMeta, 0}, {DropOwners, 0}}
	for w := range p.Pool {
		all = append(all, record{DropLease, w}, record{DropMark, w})
	}
	for i, r := range all {
		if which>>i&1 != 0 {
			lost = append(lost, r)
		}
	}
	if bits.Len(uint(which)) > len(all) {
		slices.Reverse(lost)
	}
	return lost
}

// lose loses a record, unless members differ and nothing would be left that shows their times.
func (w *world) lose(what Kind, worker int64) error {
	if w.plan.Others != nil {
		if shows, err := w.stores[0].Shows(what, worker); err != nil || !shows {
			return err
		}
	}
	return w.stores[0].Lose(what, worker)
}

// lag limits how far replicas lag, if members differ: by the clock that members go by, which may
// differ by apart, less than what a grant can last that any of them was lent, and not to before
// a loss of the record of the namespace. Otherwise a raise is forgotten that was used.
func (p *Plan) lag(apart time.Duration) {
	if p.Others == nil {
		return
	}
	most := p.least().MaxTTL + p.least().Skew - apart - time.Millisecond
	for i := range p.Faults {
		f := &p.Faults[i]
		if f.Kind != Failover {
			continue
		}
		f.For = min(f.For, most)
		for _, s := range p.Faults {
			forward, meta := s.Kind == StepCenter && s.By > 0, s.Kind == DropMeta || s.Kind == DropSome
			if (forward || meta) && s.At <= f.At {
				f.For = min(f.For, max(0, f.At-s.At-time.Millisecond))
			}
		}
	}
}
