package search

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/lease"
)

// A world is a namespace and its members, some steps into a history. Times are in milliseconds.
type world struct {
	*rand.Rand
	members          []lease.Request
	holders          []*holder
	paused           []call
	states           []state // all that servers had on record
	primary, servers int     // the one of states that the primary has, and how often that was replaced
	raises           []raise
	time, now        int64 // now is the clock of the center, which latest was the latest it showed
	latest, skew     int64 // skew is the least of any pin
	until            int64 // when something that was refused is lent
	tell             func(format string, args ...any)
}

// A state is what a server has on record, among it raises, as bits: since when, and after which state.
type state struct {
	rules.Namespace
	raises uint64
	at     int64
	parent int
}

// A raise of the pin is used once it has been on record for as long as a grant could last before.
type raise struct{ at, before int64 }

// A holder is one borrow: the grants that it has heard of, and what it may use up to used.
type holder struct {
	req     lease.Request
	known   []lease.Grant
	may     []lease.Grant
	stopped bool
	used    int64
}

// A call has reached a primary when that had a state.
type call struct {
	verb           string
	who            int
	grant          lease.Grant
	state, servers int
	now            int64
}

func one[T any](w *world, of ...T) T { return of[w.IntN(len(of))] }

func (w *world) ns() rules.Namespace { return w.states[w.primary].Namespace }

func (w *world) pass(d int64) { w.time, w.now = w.time+d, w.now+d }

// newWorld draws members, one of which opens the namespace.
func newWorld(r *rand.Rand) *world {
	w := &world{Rand: r, time: 100_000, now: 100_000, skew: 1 << 40, states: make([]state, 1), tell: func(string, ...any) {}}
	pool := one[int64](w, 1, 1, 2, 2, 3)
	for range 1 + w.IntN(3) {
		const d = time.Millisecond
		maxTTL := one[time.Duration](w, 200, 200, 300, 600, 900, 1300, 1600, 2400, 3300) * d
		skew := min(one[time.Duration](w, 0, 1, 50, 100, 300, 800)*d, maxTTL/2)
		w.members = append(w.members, lease.Request{
			Namespace: "n", Layout: "l", Pool: pool, Last: pool - 1, MaxTTL: maxTTL, Skew: skew,
			TTL: one(w, maxTTL, maxTTL, max(200*d, 2*skew)), MaxLead: one(w, maxTTL, maxTTL-20*d, maxTTL-50*d, maxTTL-50*d, 0),
		})
	}
	ns, _ := rules.Namespace{}.Init("0", one(w, w.members...))
	w.put(ns)
	return w
}

// put has the primary record something.
func (w *world) put(ns rules.Namespace) {
	was := w.states[w.primary]
	next, pin, before := state{ns, was.raises, w.time, w.primary}, ns.Meta.Pin, was.Meta.Pin
	if pin != (lease.Pin{}) {
		w.skew = min(w.skew, rules.UsedHold(pin)-pin.Used().Milliseconds())
	}
	if pin.Change.At, before.Change.At = 0, 0; pin.Change.MaxTTL > 0 && !pin.Change.Falls && pin != before {
		next.raises |= 1 << len(w.raises)
		w.raises = append(w.raises, raise{w.time, rules.UsedHold(pin)})
	}
	w.states, w.primary = append(w.states, next), len(w.states)
}

// step takes one step of any kind. It returns how that breaks a rule.
func (w *world) step() error {
	w.latest = max(w.latest, w.now)
	switch n := w.IntN(34); {
	case n < 8:
		return w.join(one(w, w.members...), false)
	case n < 11:
		least := slices.MinFunc(w.members, func(a, b lease.Request) int { return int(a.Pin().Hold() - b.Pin().Hold()) })
		return w.join(one(w, least, least, one(w, w.members...)), true)
	case n < 16:
		d, at := one[int64](w, 1, 1, 5, 20, 50, 100, 250, 700), one(w, 0, w.ns().Meta.Pin.Change.At+w.Int64N(3)-1, w.until)
		if at > w.now && at < w.now+5000 {
			d = at - w.now
		}
		w.pass(d)
	case n < 17:
		if back := w.Int64N(w.skew + 1); w.latest-w.now+back <= w.skew {
			w.now -= back
			w.tell("the clock steps back by %d", back)
		}
	case n < 25:
		w.failover()
	case n < 27:
		w.forget()
	case n < 31 && len(w.holders) > 0:
		return w.ask(max(0, len(w.holders)-1-w.IntN(8)))
	case len(w.paused) > 0:
		i := w.IntN(len(w.paused))
		c := w.paused[i]
		w.paused = slices.Delete(w.paused, i, i+1)
		return w.write(c)
	}
	return nil
}

// join has a new holder borrow and, if the pin is to settle, renew until it does not change any more.
func (w *world) join(req lease.Request, settles bool) (err error) {
	binary.LittleEndian.PutUint64(req.Owner[:8], w.Uint64())
	binary.LittleEndian.PutUint64(req.Owner[8:], w.Uint64())
	h, who := &holder{req: req}, len(w.holders)
	w.holders = append(w.holders, h)
	for i := 0; i < 3 && err == nil && len(h.known) == 0; i++ {
		if i > 0 && w.until > w.now && w.until < w.now+900 {
			w.pass(w.until - w.now)
		}
		err = w.call("acquire", who, lease.Grant{})
	}
	for i := 0; settles && i < 60 && err == nil && len(h.known) > 0 && w.ns().Meta.Pin.Change != (lease.PinChange{}); i++ {
		err = w.call("renew", who, h.known[0])
		d := req.TTL.Milliseconds() / 3
		if at := w.ns().Meta.Pin.Change.At; at > w.now {
			d = min(d, at-w.now)
		}
		w.pass(d)
	}
	return err
}

// ask has a holder renew, ask again for what it may have been lent, or give back.
func (w *world) ask(who int) error {
	h, n := w.holders[who], w.IntN(16)
	if len(h.known) == 0 || n < 2 {
		return w.call("acquire", who, lease.Grant{})
	}
	g := h.known[max(0, len(h.known)-1-max(0, w.IntN(8)-5))]
	if n < 14 {
		return w.call(one(w, "renew", "renew", "renew alone"), who, g)
	}
	if !h.stopped {
		h.stopped, h.used = true, min(g.Ceiling, one(w, g.Floor, g.Floor+1, g.Ceiling, (g.Floor+g.Ceiling)/2))
		for i := range h.may {
			h.may[i].Ceiling = min(h.may[i].Ceiling, h.used)
		}
	}
	return w.call("release", who, h.known[len(h.known)-1])
}

// failover has another server become the primary. It lags by less than what a grant by its pin can
// last, and lacks no raise for as long as that takes.
func (w *world) failover() {
	var may []int
	for i, s := range w.states {
		ok := s.Meta.Pin != (lease.Pin{}) && w.time-w.lacks(i) < rules.UsedHold(s.Meta.Pin)
		for r, raise := range w.raises {
			ok = ok && (s.raises>>r&1 == 1 || w.time-raise.at < raise.before)
		}
		if i == w.primary || ok {
			may = append(may, i)
		}
	}
	w.servers++
	w.primary = may[max(0, one(w, w.IntN(len(may)), len(may)-1-w.IntN(6), len(may)-1-w.IntN(3)))]
	w.tell("server %d becomes the primary", w.servers)
}

// lacks returns since when a server with a state lacks what the primary has.
func (w *world) lacks(state int) int64 {
	since := w.time
	for primary := w.primary; state != primary; {
		if state > primary {
			state = w.states[state].parent
		} else {
			since, primary = w.states[primary].at, w.states[primary].parent
		}
	}
	return since
}

// forget loses some of the records.
func (w *world) forget() {
	ns, shows := w.ns(), false
	if w.IntN(2) == 0 {
		ns = ns.WithoutMeta()
	}
	if w.IntN(6) == 0 {
		ns = ns.WithoutOwners()
	}
	for i := range int64(len(ns.Slots)) {
		n := w.IntN(8)
		if n < 4 {
			ns = ns.WithoutLease(i)
		}
		if n < 3 || n == 4 {
			ns = ns.WithoutMark(i)
		}
		shows = shows || ns.Slots[i].Hold > 0
	}
	if !ns.Equal(w.ns()) && (ns.Meta.Pin != (lease.Pin{}) || shows) {
		w.put(ns)
		w.tell("records are lost")
	}
}

// call has a call of a holder arrive, and mostly write at once.
func (w *world) call(verb string, who int, g lease.Grant) error {
	c := call{verb, who, g, w.primary, w.servers, w.now}
	if verb != "renew alone" && w.IntN(8) == 0 {
		w.paused = append(w.paused, c)
		return nil
	}
	return w.write(c)
}

// write has a call write what the rules decide, if the records are still those that it has read.
func (w *world) write(c call) (err error) {
	if c.state != w.primary {
		return nil
	}
	h, ns, g, incarnation := w.holders[c.who], w.ns(), c.grant, strconv.Itoa(c.servers)
	switch c.verb {
	case "acquire":
		ns, g, err = ns.Acquire(c.now, incarnation, h.req)
	case "renew":
		ns, g, err = ns.Renew(c.now, incarnation, g)
	case "renew alone":
		ns, g, err = ns.RenewAlone(c.now, incarnation, g)
	case "release":
		ns, err = ns.Release(c.now, incarnation, g, h.used)
	}
	if !ns.Equal(w.ns()) {
		w.put(ns)
	}
	w.tell("%d of %v ttl %v lead %v: %s at %d: w%d (%d,%d] %v", c.who, h.req.Pin(), h.req.TTL, h.req.MaxLead, c.verb, c.now, g.Worker, g.Floor, g.Ceiling, err)
	var q *lease.QuarantineError
	if errors.As(err, &q) {
		w.until = q.Until.UnixMilli()
	}
	if err != nil || h.stopped || c.servers != w.servers { // on another server, it asks again
		return nil
	}
	if w.IntN(6) > 0 {
		h.known = append(h.known, g)
	}
	h.may = append(h.may, g)
	for i, other := range w.holders {
		for _, o := range other.may {
			if i != c.who && o.Worker == g.Worker && max(o.Floor, g.Floor) < min(o.Ceiling, g.Ceiling) {
				return fmt.Errorf("worker id %d: %d may use (%d,%d], %d (%d,%d]", g.Worker, i, o.Floor, o.Ceiling, c.who, g.Floor, g.Ceiling)
			}
		}
	}
	return nil
}
