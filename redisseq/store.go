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

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/internal/engine"
	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/internal/redisconn"
	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/lease"
)

//go:embed *.lua
var files embed.FS

var (
	loading  = script("load.lua")
	swapping = script("swap.lua")
	lending  = script("lend.lua")
	renewing = script("renew.lua")
)

func script(name string) *redis.Script {
	return redis.NewScript(redisconn.Lua(files, "values.lua", "base.lua", name))
}

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

// page is how many free worker ids of each kind a borrow reads first.
const page = 16

// Load implements engine.Store. A borrow takes one call unless the marks of the worker ids with
// the least scores are still ahead of the clock.
func (s store) Load(ctx context.Context, namespace string, want engine.Want) (engine.View, error) {
	v := engine.View{Namespace: rules.Namespace{Part: &rules.Part{}}}
	k := kept{slots: map[int64][3]string{}}
	r := want.Request
	args := []any{"writes", !s.Durable, 0, -1, "", hex.EncodeToString(r.Owner[:]), "", r.First, r.Last, want.Skip, 0, 0, r.Pool}
	if want.Shows {
		args[0] = "shows"
	}
	if want.Worker >= 0 {
		args[4] = strconv.FormatInt(want.Worker, 10)
	}
	if spent := rules.Spent(r.Owner); want.Borrow {
		args[6], args[11] = hex.EncodeToString(spent[:]), page // more than one, since the least scores may have marks ahead
	}
	for offset, count, shown := int64(0), int64(page), -1; ; shown = len(v.Slots) {
		reply, err := s.run(ctx, want.Verb, namespace, loading, false, args...)
		if err == nil {
			err = s.read(reply, r.Pool, &v, &k)
		}
		if err != nil {
			return v, s.damaged(want.Verb, namespace, err)
		}
		switch more := reply[13]; {
		case want.Borrow && more != "" && !decided(v, r, more) && offset <= v.Part.Leases:
			if args[9] == uint32(0) {
				offset, count = offset+count, 1024
			}
			args[9], args[10], args[11] = uint32(0), offset, count
		case want.All && int64(len(v.Slots)) < pool(v) && len(v.Slots) > shown:
			args[2], args[3] = len(v.Slots), min(int64(len(v.Slots))+499, pool(v)-1)
		default:
			v.Kept = k
			return v, nil
		}
	}
}

// decided reports whether the loaded worker ids, whose scores are the least and at most more,
// include a free one or determine when one becomes free.
func decided(v engine.View, r lease.Request, more string) bool {
	now := v.Now.UnixMilli()
	lead := rules.Lead(v.Meta.Quarantine, now, rules.By(cmp.Or(v.Meta.Pin, r.Pin()), r))
	greatest, _ := strconv.ParseInt(more, 10, 64)
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
// it checks again. pool is the pool that a member requests.
func (s store) read(r redisconn.Reply, pool int64, v *engine.View, k *kept) error {
	const head, width = 14, 4
	if len(r) < head || (len(r)-head)%width != 0 {
		return r.Unknown()
	}
	var now, leases, marks, owners int64
	if err := cmp.Or(r[:2].Ints(&now), r[2:6].Ints(&leases, &marks, &owners)); err != nil {
		return err
	}
	if v.Now.IsZero() { // from the first page: Swap compares the content of the others
		v.Now, v.Incarnation = time.UnixMilli(now), r[2]
		k.meta, k.sizes = [5]string(r[8:13]), strings.Join(r[3:6], " ")
		p := v.Part
		p.Leases, p.Marks, p.Any = min(leases, owners), marks, max(leases, owners, marks) > 0 || r[6]+r[7] != ""
		var d decoder
		k.holds = [2]string(r[6:8])
		a, b := d.hold(r[6]), d.hold(r[7])
		p.Hold, p.Least, p.Used = max(a.Hold, b.Hold), min(a.Hold, b.Hold), max(a.Used, b.Used)
		v.Meta = d.meta(k.meta)
		if d.err != nil {
			return d.err
		}
		pool = cmp.Or(v.Meta.Pin.Pool, pool)
		if n := max(leases, marks, owners); pool > 0 && n > pool {
			return fmt.Errorf("%w: the number of records for a pool of %d is %d", lease.ErrDamaged, pool, n)
		}
	}
	complete := v.Meta.Pin.Pool > 0 && min(leases, marks, owners) == v.Meta.Pin.Pool
	for i := head; i < len(r); i += width {
		var d decoder
		worker := d.number("a worker id among the leases", r[i])
		raw := [3]string(r[i+1 : i+width])
		slot := d.slot(worker, raw, rules.Slot{Hold: v.Part.Hold, Used: v.Part.Used})
		switch {
		case d.err != nil:
			return d.err
		case strconv.FormatInt(worker, 10) != r[i], complete && worker < v.Meta.Pin.Pool && slices.Contains(raw[:], ""):
			return fmt.Errorf("%w: %q is no worker id, or has no lease, mark or owner, though there are %d of each", lease.ErrDamaged, printable.Text(r[i]), v.Meta.Pin.Pool)
		}
		if at, there := slices.BinarySearch(v.Part.Workers, worker); !there {
			v.Part.Workers, v.Slots = slices.Insert(v.Part.Workers, at, worker), slices.Insert(v.Slots, at, slot)
			k.slots[worker] = raw
		}
	}
	return nil
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

// meta decodes the record of a namespace. A record without a pin or a quarantine counts as lost.
func (d *decoder) meta(raw [5]string) rules.Meta {
	if raw[0] == "" || raw[3] == "" {
		return rules.Meta{Reason: raw[4]}
	}
	m := rules.Meta{Pin: lease.ParsePin(raw[0]), Incarnation: raw[1], Former: raw[2], Quarantine: d.number("the quarantine", raw[3]), Reason: raw[4]}
	d.err = cmp.Or(d.err, m.Check())
	return m
}

// hold decodes the field hold, of which the rest of a lost key shows nothing.
func (d *decoder) hold(text string) (s rules.Slot) {
	if hold, used, _ := strings.Cut(text, "/"); text != "" {
		s.Hold, s.Used = d.number("hold of the namespace", hold), d.number("used hold of the namespace", used)
	}
	return s
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
		strings.Join([]string{owner, strconv.FormatInt(s.Token, 10), strconv.FormatInt(s.Floor, 10), strconv.FormatInt(s.Since, 10), s.Holder}, "|"),
	}
}

// Swap implements engine.Store. To create a pool of more than some thousand takes several calls.
func (s store) Swap(ctx context.Context, namespace string, before engine.View, after rules.Namespace) error {
	k, want, fill := before.Kept.(kept), before.Want, int64(0)
	carried := rules.Slot{Hold: after.Part.Hold, Used: after.Part.Used}
	if after.Part.Leases != before.Part.Leases || after.Part.Marks != before.Part.Marks {
		fill = after.Part.Leases
	}
	var slots []any
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
		slots = append(slots, worker)
		former, is := k.slots[worker], encoded(worker, slot)
		for _, text := range append(former[:], is[:]...) {
			slots = append(slots, text)
		}
	}
	hold := fmt.Sprintf("%d/%d", carried.Hold, carried.Used)
	if carried.Hold == 0 || k.holds == [2]string{hold, hold} {
		hold = ""
	}
	meta := k.meta
	if after.Meta != before.Meta {
		m := after.Meta
		meta = [5]string{m.Pin.String(), m.Incarnation, m.Former, strconv.FormatInt(m.Quarantine, 10), m.Reason}
	}
	was := k.meta
	for range lease.MaxPool/8192 + 1 {
		args := []any{before.Incarnation, before.Now.UnixMilli(), fill, hold, k.sizes}
		for _, text := range append(was[:], meta[:]...) {
			args = append(args, text)
		}
		reply, err := s.run(ctx, want.Verb, namespace, swapping, want.Lends, append(args, slots...)...)
		switch {
		case errors.Is(err, engine.ErrChanged) && was != k.meta:
			return engine.ErrPartly
		case err != nil || reply[0] != "MORE":
			return err
		case len(reply) != 2:
			return s.damaged(want.Verb, namespace, reply.Unknown())
		}
		was, slots, k.sizes = meta, nil, reply[1]
	}
	return s.damaged(want.Verb, namespace, fmt.Errorf("%w: records vanish while they are created", lease.ErrDamaged))
}

// Lend implements engine.Store.
func (s store) Lend(ctx context.Context, req lease.Request) (g lease.Grant, done bool, err error) {
	pin, spent := req.Pin(), rules.Spent(req.Owner)
	reply, err := s.run(ctx, "acquire", req.Namespace, lending, true, pin.String(), !s.Durable, req.Pool,
		hex.EncodeToString(req.Owner[:]), hex.EncodeToString(spent[:]), req.Holder, req.First, req.Last, req.TTL.Milliseconds(),
		req.CallerTime, lease.MaxClockError.Milliseconds())
	if err != nil || reply[0] == "LOAD" {
		return g, false, err
	}
	g = lease.Grant{Request: req, Pinned: pin}
	if err := reply.Ints(&g.Worker, &g.Token, &g.Now, &g.Floor, &g.Ceiling, &g.Since); err != nil {
		return lease.Grant{}, false, s.Wrap("acquire", req.Namespace, err)
	}
	return g, true, nil
}

// Renew implements engine.Store.
func (s store) Renew(ctx context.Context, g lease.Grant) (renewed lease.Grant, done bool, err error) {
	pin, ok := g.Pinned.Join(g.Request)
	if !ok || pin != g.Pinned || pin.Change != (lease.PinChange{}) {
		return g, false, nil
	}
	by := rules.By(pin, g.Request)
	held := strings.Join(strings.SplitN(encoded(g.Worker, rules.Slot{Owner: g.Owner, Token: g.Token, Floor: g.Floor})[2], "|", 4)[:3], "|") + "|"
	reply, err := s.run(ctx, "renew", g.Namespace, renewing, true, pin.String(), !s.Durable, g.Worker, held,
		g.Floor, g.Ceiling, rules.Held(g, pin).Skew.Milliseconds(), by.TTL.Milliseconds(), by.MaxTTL.Milliseconds())
	if err != nil || reply[0] == "LOAD" {
		return g, false, err
	}
	if err := reply.Ints(&g.Now, &g.Ceiling); err != nil {
		return g, false, s.Wrap("renew", g.Namespace, err)
	}
	g.Pinned = pin
	return g, true, nil
}

// run runs a script. If waits is set, replicas acknowledge the script's writes.
func (s store) run(ctx context.Context, verb, namespace string, script *redis.Script, waits bool, args ...any) (redisconn.Reply, error) {
	return s.Run(ctx, redisconn.Call{
		Verb: verb, Name: namespace, Script: script, Keys: s.keys(namespace), Args: args, Waits: waits, Remedy: s.remedy(namespace),
		Answer: func(r redisconn.Reply) error {
			if r[0] == "CHANGED" {
				return engine.ErrChanged
			}
			return nil
		},
		Passes: []string{"MORE", "LOAD"},
	})
}

func (s store) keys(namespace string) []string {
	var keys []string
	for _, what := range []string{"lease", "mark", "owner", "meta"} {
		keys = append(keys, s.Key(namespace, what))
	}
	return keys
}

// damaged adds a remedy to an error of read.
func (s store) damaged(verb, namespace string, err error) error {
	if errors.Is(err, lease.ErrDamaged) && !strings.Contains(err.Error(), s.remedy(namespace)) {
		err = s.Wrap(verb, namespace, fmt.Errorf("%w: %s", err, s.remedy(namespace)))
	}
	return err
}

// remedy returns the remedy for damaged records.
func (s store) remedy(namespace string) string {
	return fmt.Sprintf("give the keys %s another prefix if they are not snowlease's; if they are, delete all four: later grants lie above the lost ones",
		strings.Join(s.keys(namespace), " "))
}
