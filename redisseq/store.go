package redisseq

import (
	"cmp"
	"context"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snowlease/snowlease/internal/engine"
	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/internal/redisconn"
	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/lease"
)

//go:embed *.lua
var files embed.FS

var (
	loading  = redisconn.Script(files, "base.lua", "load.lua")
	swapping = redisconn.Script(files, "base.lua", "swap.lua")
	lending  = redisconn.Script(files, "base.lua", "lend.lua")
	renewing = redisconn.Script(files, "base.lua", "renew.lua")
)

// store is the engine.Store of a center. Each step is one script.
type store struct{ *redisconn.Conn }

var _ engine.Store = store{}

// kept is the result of load.lua, for swap.lua to compare.
type kept struct {
	meta  [5]string           // pin, run, prev, quar, why
	slots map[int64][3]string // lease, mark, owners
	sizes string              // the sizes of these keys
	holds [2]string           // their fields hold
}

// page is how many free worker ids of each kind a borrow reads first: more than one, since the least
// scores may have marks ahead.
const page = 16

// Load implements engine.Store. A borrow takes one call unless the marks of the worker ids with
// the least scores are still ahead of the clock.
func (s store) Load(ctx context.Context, namespace string, want engine.Want) (engine.View, error) {
	v := engine.View{Namespace: rules.Namespace{Part: &rules.Part{}}}
	k := kept{slots: map[int64][3]string{}}
	r, skip, offset, count := want.Request, int64(want.Skip), int64(0), int64(0)
	first, spent := r.First+skip%(r.Last-r.First+1), rules.Spent(r.Owner)
	var workers []any
	if want.Worker >= 0 {
		workers = append(workers, want.Worker)
	}
	if want.Borrow { // missing ones are created if one of them is lent
		workers, count = numbered(first, min(first+page, r.Last+1)), page
	}
	for shown := -1; ; shown = len(v.Slots) {
		args := []any{hex.EncodeToString(r.Owner[:]), hex.EncodeToString(spent[:]), first, r.Last, skip, offset, count}
		var lent, greatest int64
		err := s.run(ctx, namespace, redisconn.Call{
			Verb: want.Verb, Script: loading, Args: append(args, workers...), Shows: want.Shows,
			Read: func(reply redisconn.Reply) (err error) {
				lent, greatest, err = read(reply, &v, &k)
				return err
			},
		})
		if err != nil {
			return v, err
		}
		if skip > 0 { // those were not the least scores
			lent, greatest = count, 0
		}
		switch {
		case want.Borrow && lent == count && !decided(v, r, greatest) && offset <= v.Part.Leases:
			if skip == 0 {
				offset, count = offset+count, 1024
			}
			first, skip, workers = r.First, 0, nil
		case want.All && int64(len(v.Slots)) < pool(v) && len(v.Slots) > shown:
			workers = numbered(int64(len(v.Slots)), min(int64(len(v.Slots))+500, pool(v)))
		default:
			v.Kept = k
			return v, nil
		}
	}
}

// numbered returns the numbers from first to the one before end.
func numbered(first, end int64) (list []any) {
	for n := first; n < end; n++ {
		list = append(list, n)
	}
	return list
}

// decided reports whether the loaded worker ids, whose scores are the least and at most greatest,
// include a free one or determine when one becomes free.
func decided(v engine.View, r lease.Request, greatest int64) bool {
	now := v.Now.UnixMilli()
	lead := rules.Lead(v.Meta.Quarantine, now, rules.By(cmp.Or(v.Meta.Pin, r.Pin()), r))
	for i, s := range v.Slots {
		if w := v.Worker(i); w >= r.First && w <= r.Last && (rules.Free(s, now, lead) || rules.FreeAt(s, lead) <= greatest) {
			return true
		}
	}
	return false
}

// pool returns the number of slots to show.
func pool(v engine.View) int64 { return cmp.Or(v.Meta.Pin.Pool, v.Part.Leases) }

// read adds a reply of load.lua to a view. It checks every field of a record, and nothing behind
// it checks again. read returns how many worker ids of the reply were lent, and the greatest score
// of those.
func read(r redisconn.Reply, v *engine.View, k *kept) (lent, greatest int64, err error) {
	const head = 12
	n := (len(r) - head) / 4
	var now, leases, marks, owners int64
	if len(r) != head+4*max(n, 0) {
		return 0, 0, r.Unknown()
	}
	if err := cmp.Or(r[:2].Ints(&now), r[head-2:head].Ints(&lent)); err != nil {
		return 0, 0, err
	}
	if _, err := fmt.Sscan(r[3], &leases, &marks, &owners); err != nil {
		return 0, 0, r.Unknown()
	}
	var d decoder
	a, shape := d.hold(r[4], &marks)
	b, same := d.hold(r[5], &owners)
	if v.Now.IsZero() { // from the first page: Swap compares the content of the others
		v.Now, v.Incarnation = time.UnixMilli(now), r[2]
		k.sizes, k.holds, k.meta = r[3], [2]string(r[4:6]), [5]string(r[6:11])
		p := v.Part
		p.Leases, p.Marks, p.Any = min(leases, owners), marks, max(leases, owners, marks) > 0 || r[4]+r[5] != ""
		p.Hold, p.Least, p.Used = max(a.Hold, b.Hold), min(a.Hold, b.Hold), max(a.Used, b.Used)
		v.Shape, v.Meta = cmp.Or(shape, same), d.meta(k.meta)
		if most := max(leases, marks, owners); v.Meta.Pin.Pool > 0 && most > v.Meta.Pin.Pool {
			return 0, 0, fmt.Errorf("%w: the number of records for a pool of %d is %d", lease.ErrDamaged, v.Meta.Pin.Pool, most)
		}
	}
	pool := v.Meta.Pin.Pool
	complete := pool > 0 && min(leases, marks, owners) == pool
	for i := range n {
		name := r[head+i]
		worker, raw := d.number("a worker id among the leases", name), [3]string{r[head+n+i], r[head+2*n+i], r[head+3*n+i]}
		slot := d.slot(worker, raw, rules.Slot{Hold: v.Part.Hold, Used: v.Part.Used})
		if strconv.FormatInt(worker, 10) != name || complete && worker < pool && slices.Contains(raw[:], "") {
			return 0, 0, fmt.Errorf("%w: %q is no worker id, or has no lease, mark or owner, though there are %d of each", lease.ErrDamaged, printable.Text(name), pool)
		}
		if at, there := slices.BinarySearch(v.Part.Workers, worker); !there {
			v.Part.Workers, v.Slots = slices.Insert(v.Part.Workers, at, worker), slices.Insert(v.Slots, at, slot)
			k.slots[worker] = raw
		}
		greatest = slot.Expires // those that were lent come last
	}
	return lent, greatest, d.err
}

// A decoder decodes values that scripts wrote. It stops at the first value that no script writes.
type decoder struct{ err error }

func (d *decoder) number(what, text string) int64 {
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		d.err = cmp.Or(d.err, fmt.Errorf("%w: %s is %q", lease.ErrDamaged, what, printable.Text(text)))
	}
	return int64(n)
}

// meta decodes the record of a namespace. A record without a pin or a quarantine counts as lost,
// but a namespace that is retired needs no quarantine.
func (d *decoder) meta(raw [5]string) rules.Meta {
	pin := lease.ParsePin(raw[0])
	if raw[3] == "" && pin.Retired {
		raw[3] = "0"
	}
	if raw[0] == "" || raw[3] == "" {
		return rules.Meta{Reason: raw[4]}
	}
	m := rules.Meta{Pin: pin, Incarnation: raw[1], Former: raw[2], Quarantine: d.number("the quarantine", raw[3]), Reason: raw[4]}
	d.err = cmp.Or(d.err, m.Check())
	return m
}

// hold decodes the field hold of a key with size entries, of which it is one. The rest of a lost key
// shows nothing.
func (d *decoder) hold(text string, size *int64) (s rules.Slot, shape string) {
	if text == "" {
		return s, ""
	}
	*size--
	hold, rest, _ := strings.Cut(text, "/")
	used, shape, _ := strings.Cut(rest, "/")
	s.Hold, s.Used = d.number("hold of the namespace", hold), d.number("used hold of the namespace", used)
	return s, shape
}

// slot decodes the records of a worker id, which carries the same pin as all others.
func (d *decoder) slot(worker int64, raw [3]string, carried rules.Slot) (s rules.Slot) {
	of := " of worker id " + strconv.FormatInt(worker, 10)
	if s.HasMark = raw[1] != ""; s.HasMark {
		s.Mark = d.number("mark"+of, raw[1])
	}
	if raw[0] != "" {
		if s.Expires = d.number("expires"+of, raw[0]); s.Expires == worker {
			s.Expires = 0 // never leased
		}
	}
	s.HasLease = raw[0] != "" && raw[2] != ""
	if s.HasLease || s.HasMark {
		s.Hold, s.Used = carried.Hold, carried.Used
	}
	if raw[2] == "" {
		return s
	}
	f := strings.SplitN(raw[2], "|", 5)
	owner, err := hex.DecodeString(f[0])
	if len(f) != 5 || f[0] != "0" && (err != nil || len(owner) != len(s.Owner)) {
		d.err = cmp.Or(d.err, fmt.Errorf("%w: owner%s is %q", lease.ErrDamaged, of, printable.Text(raw[2])))
		return s
	}
	copy(s.Owner[:], owner)
	s.Token, s.Floor, s.Since, s.Holder = d.number("token"+of, f[1]), d.number("floor"+of, f[2]), d.number("since"+of, f[3]), f[4]
	d.err = cmp.Or(d.err, s.Check(worker))
	return s
}

// encoded returns the entries of a slot in the three keys.
func encoded(worker int64, s rules.Slot) [3]string {
	owner := "0"
	if s.Owner != (lease.Owner{}) {
		owner = hex.EncodeToString(s.Owner[:])
	}
	score := cmp.Or(s.Expires, worker)
	return [3]string{
		strconv.FormatInt(score, 10), strconv.FormatInt(s.Mark, 10),
		fmt.Sprintf("%s|%d|%d|%d|%s", owner, s.Token, s.Floor, s.Since, s.Holder),
	}
}

// Swap implements engine.Store. To create a pool of more than some thousand takes several calls.
func (s store) Swap(ctx context.Context, namespace string, before engine.View, after rules.Namespace) error {
	k, want, part := before.Kept.(kept), before.Want, before.Part
	carried := rules.Slot{Hold: after.Part.Hold, Used: after.Part.Used}
	fill := int64(0)
	if after.Part.Leases != part.Leases || after.Part.Marks != part.Marks {
		fill = after.Part.Leases
	}
	var workers, former, is []string
	for i, slot := range after.Slots {
		worker, was := after.Worker(i), rules.Slot{}
		if i < len(before.Slots) {
			was = before.Slots[i]
		}
		// A grant that was already recorded is written again.
		again := want.Lends && slot.Owner == want.Request.Owner && after.Equal(before.Namespace)
		if slot.Hold != was.Hold || slot.Used != was.Used {
			carried = slot
		}
		if was.Hold, was.Used = slot.Hold, slot.Used; slot == was && !again {
			continue
		}
		has, to := k.slots[worker], encoded(worker, slot)
		workers, former, is = append(workers, strconv.FormatInt(worker, 10)), append(former, has[:]...), append(is, to[:]...)
	}
	hold := fmt.Sprintf("%d/%d/%s", carried.Hold, carried.Used, after.Shape)
	if carried.Hold == 0 || k.holds == [2]string{hold, hold} {
		hold = ""
	}
	meta := k.meta
	if after.Meta != before.Meta {
		m := after.Meta
		meta = [5]string{m.Pin.String(), m.Incarnation, m.Former, strconv.FormatInt(m.Quarantine, 10), m.Reason}
	}
	const step = 4096                                // as in swap.lua
	was, steps := k.meta, max(1, (fill+step-1)/step) // a call that ended early has created some
	for i, done := int64(0), min(part.Leases, part.Marks)/step; i < steps; i++ {
		args := []any{before.Incarnation, before.Now.UnixMilli(), hold, k.sizes, fill, (done + i) % steps * step, len(workers)}
		for _, text := range slices.Concat(workers, was[:], former, meta[:], is) {
			args = append(args, text)
		}
		err := s.run(ctx, namespace, redisconn.Call{
			Verb: want.Verb, Script: swapping, Args: args, Waits: want.Lends,
			Read: func(reply redisconn.Reply) error {
				if len(reply) != 2 {
					return reply.Unknown()
				}
				k.sizes = reply[1]
				return nil
			},
		})
		switch {
		case errors.Is(err, engine.ErrChanged) && i > 0:
			return engine.ErrPartly
		case err != nil:
			return err
		}
		was, workers, former, is = meta, nil, nil, nil
	}
	return nil
}

// Lend implements engine.Store.
func (s store) Lend(ctx context.Context, req lease.Request) (g lease.Grant, done bool, err error) {
	pin, spent := req.Pin(), rules.Spent(req.Owner)
	lent := lease.Grant{Request: req, Pinned: pin}
	err = s.run(ctx, req.Namespace, redisconn.Call{
		Verb: "acquire", Script: lending, Waits: true,
		Args: []any{
			pin.String(), req.Pool, hex.EncodeToString(req.Owner[:]), hex.EncodeToString(spent[:]), req.Holder,
			req.First, req.Last, req.TTL.Milliseconds(), req.CallerTime, lease.MaxClockError.Milliseconds(),
		},
		Read: func(r redisconn.Reply) error {
			return r.Ints(&lent.Worker, &lent.Token, &lent.Now, &lent.Floor, &lent.Ceiling, &lent.Since)
		},
	})
	if errors.Is(err, engine.ErrChanged) {
		return g, false, nil
	}
	return lent, err == nil, err
}

// Renew implements engine.Store.
func (s store) Renew(ctx context.Context, g lease.Grant) (renewed lease.Grant, done bool, err error) {
	pin, ok := g.Pinned.Join(g.Request)
	if !ok || pin != g.Pinned || pin.Change != (lease.PinChange{}) {
		return g, false, nil
	}
	by := rules.By(pin, g.Request)
	held := fmt.Sprintf("%x|%d|%d|", g.Owner, g.Token, g.Floor)
	err = s.run(ctx, g.Namespace, redisconn.Call{
		Verb: "renew", Script: renewing, Waits: true,
		Args: []any{pin.String(), g.Worker, held, g.Floor, g.Ceiling, rules.Held(g, pin).Skew.Milliseconds(), by.TTL.Milliseconds(), by.MaxTTL.Milliseconds()},
		Read: func(r redisconn.Reply) error { return r.Ints(&g.Now, &g.Ceiling) },
	})
	if errors.Is(err, engine.ErrChanged) {
		return g, false, nil
	}
	g.Pinned = pin
	return g, err == nil, err
}

// run runs a script on the keys of a namespace.
func (s store) run(ctx context.Context, namespace string, call redisconn.Call) error {
	call.Name, call.Keys = namespace, s.keys(namespace)
	call.Remedy = fmt.Sprintf("give the keys %s another prefix if they are not snowlease's; if they are, delete all four: later grants lie above the lost ones",
		strings.Join(call.Keys, " "))
	call.Answer = func(r redisconn.Reply) error {
		if r[0] == "CHANGED" {
			return engine.ErrChanged
		}
		return nil
	}
	return s.Run(ctx, call)
}

func (s store) keys(namespace string) []string {
	var keys []string
	for _, what := range []string{"lease", "mark", "owner", "meta"} {
		keys = append(keys, s.Key(namespace, what))
	}
	return keys
}
