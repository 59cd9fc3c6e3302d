package dbseq

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/internal/sqlconn"
	"github.com/snowlease/snowlease/lease"
)

// A call is one Acquire, Renew, Release or Init.
type call struct {
	req   lease.Request
	known lease.Pin     // the recorded pin when the grant was made
	pin   lease.Pin     // the pin that should be recorded
	by    lease.Request // req as the pin allows for it
	start time.Time
	args  sqlconn.Args

	borrow   bool // asks for a new grant
	veto     bool // the caller's clock may refuse the server's
	compares bool // whether incarnations are compared
}

func (c *Center) newCall(req lease.Request, known lease.Pin, borrow bool) *call {
	spent := rules.Spent(req.Owner)
	k := &call{
		req: req, known: known, start: time.Now(), borrow: borrow, veto: borrow && req.CallerTime != 0, compares: c.conn.Compares(),
		args: sqlconn.Args{
			"ns": req.Namespace, "pool": req.Pool, "first": req.First, "last": req.Last,
			"owner": hex.EncodeToString(req.Owner[:]), "spent": hex.EncodeToString(spent[:]), "holder": text(req.Holder, 255),
			"slot": int64(-1),
			"lo":   int64(0), "hi": int64(math.MaxInt64),
		},
	}
	pin, ok := known.Join(req)
	if !ok {
		pin = req.Pin()
	}
	k.pinned(pin)
	return k
}

// pinned keeps the recorded pin, which all later changes compare.
func (k *call) pinned(pin lease.Pin) {
	k.pin, k.by = pin, rules.By(pin, k.req)
	a := k.args
	a["pin"], a["kept"], a["inuse"] = pin.String(), ms(pin.Hold()), rules.UsedHold(pin)
	a["ttl"], a["maxttl"], a["ahead"] = ms(k.by.TTL), ms(k.by.MaxTTL), ms(k.by.MaxLead)
	a["skew"] = ms(rules.Held(lease.Grant{Request: k.req, Pinned: k.known}, pin).Skew)
}

// clock bounds the server's clock by the caller's current time.
func (k *call) clock() {
	if k.veto {
		local := k.req.CallerTime + time.Since(k.start).Milliseconds()
		k.args["lo"], k.args["hi"] = local-ms(lease.MaxClockError), local+ms(lease.MaxClockError)
	}
}

// refuse returns a *lease.ClockError if the caller's clock differs too much from now.
func (k *call) refuse(now int64) error {
	k.clock()
	if !k.veto {
		return nil
	}
	return rules.ClockVeto(now-time.Since(k.start).Milliseconds(), k.req)
}

// A view is what one statement saw of a namespace.
type view struct {
	now         int64
	incarnation string // of the server that answered, empty if it does not reveal it
	there       bool   // the namespace has a record
	pin         string
	recorded    string // the recorded incarnation
	former      string // the incarnation before
	quarantine  int64
	reason      string
	known       int64 // slots below Pool
	soonest     int64 // the last millisecond before the first slot of the range is free
	ahead       int64 // the same if ranges may begin ahead of the clock
	inuse, hold int64 // the greatest Slot.Used and Slot.Hold
	held        record
}

// A record is one slot.
type record struct {
	there                                                        bool
	now, worker, token, ver, ticket, since, floor, expires, mark int64
}

// meta is what the rules decide on.
func (v view) meta() rules.Meta {
	return rules.Meta{Pin: lease.ParsePin(v.pin), Incarnation: v.recorded, Former: v.former, Quarantine: v.quarantine}
}

// check returns lease.ErrDamaged if the record is damaged.
func (r record) check() error {
	return cmp.Or(r.slot().Check(r.worker), rules.CheckNumber(fmt.Sprintf("ver of worker id %d", r.worker), r.ver))
}

// slot is what the rules decide on.
func (r record) slot() rules.Slot {
	return rules.Slot{HasLease: r.there, HasMark: r.there, Expires: r.expires, Mark: r.mark, Token: r.token, Since: r.since, Floor: r.floor}
}

// lending returns the arguments that write s in place of r, until the server's clock has passed
// last.
func (k *call) lending(r record, s rules.Slot, last, ticket int64) sqlconn.Args {
	k.clock()
	return k.args.With(sqlconn.Args{
		"slot": r.worker, "ver": r.ver, "wasexpires": r.expires, "wasmark": r.mark,
		"ticket": ticket, "since": s.Since, "token": s.Token, "floor": s.Floor, "expires": s.Expires, "mark": s.Mark,
		"lo": max(k.args["lo"].(int64), r.now), "hi": min(k.args["hi"].(int64), last),
	})
}

// lent returns r with the written fields of s.
func (r record) lent(s rules.Slot) record {
	r.there, r.token, r.floor, r.mark, r.since = true, s.Token, s.Floor, s.Mark, s.Since
	return r
}

// look reads the namespace in one statement. Later changes depend on the quarantine
// that it saw.
func (c *Center) look(ctx context.Context, k *call) (v view, err error) {
	v, _, err = sqlconn.One(ctx, c.conn, nil, "look", k.args, func(v *view) []any {
		return []any{
			&v.now, &v.incarnation, &v.there, &v.pin, &v.recorded, &v.former, &v.quarantine, &v.reason,
			&v.known, &v.soonest, &v.ahead, &v.inuse, &v.hold,
			&v.held.there, &v.held.worker, &v.held.token, &v.held.ver, &v.held.ticket,
			&v.held.since, &v.held.floor, &v.held.expires, &v.held.mark,
		}
	})
	lead := rules.Lead(v.quarantine, v.now, k.by)
	if lead > 0 {
		v.soonest = v.ahead
	}
	v.held.now, k.args["quarantine"], k.args["lead"] = v.now, v.quarantine, lead
	if err == nil {
		err = v.held.check()
	}
	if err == nil && v.there {
		err = v.meta().Check()
	}
	return v, err
}

// survey reads the namespace, refuses a member that may not join, and raises the pin to its
// request. If records are missing or another server answers, it starts a quarantine and reads
// again, until it finds everything in order.
func (c *Center) survey(ctx context.Context, k *call) (view, error) {
	for range sqlconn.Rounds {
		v, err := c.look(ctx, k)
		if err == nil {
			err = k.refuse(v.now)
		}
		if err != nil {
			return v, err
		}
		if changed, err := c.join(ctx, k, v); err != nil {
			return v, err
		} else if changed {
			continue
		}
		if answers, err := c.sound(ctx, k, &v); answers || err != nil {
			return v, err
		}
	}
	return view{}, sqlconn.Unsettled()
}

// sound reports whether v answers k: nothing was lost, or the quarantine that v then shows has begun.
func (c *Center) sound(ctx context.Context, k *call, v *view) (bool, error) {
	if k.compares && v.incarnation == "" {
		_, err := c.conn.Identify(ctx)
		return false, err // it may be another server
	}
	reason := k.loss(*v)
	if reason == "" {
		return true, nil
	}
	if v.there && k.compares && v.incarnation != v.recorded {
		// The new server may also be of another kind.
		if err := c.conn.Server(ctx, true); err != nil {
			return false, err
		}
	}
	// A borrower is answered immediately. A holder is answered from the new record, which the
	// next look reads.
	done, err := c.beginQuarantine(ctx, k, v, reason)
	return done && k.borrow, err
}

// join joins the namespace, and continues a change of its pin. It returns true if k looked by a pin
// other than the one recorded now.
func (c *Center) join(ctx context.Context, k *call, v view) (changed bool, err error) {
	before, stored := k.pin, lease.ParsePin(v.pin)
	pin, err := rules.Joined(stored, k.known, v.inuse, v.hold, k.req)
	if err != nil {
		return false, err
	}
	k.pinned(pin)
	joins := pin != stored
	if !joins && v.there {
		pin, err = c.advance(ctx, k, v)
	}
	if err == nil && v.there && pin != stored {
		return true, c.repin(ctx, k, stored, pin, v.now, joins)
	}
	return before != k.pin, err
}

// advance returns the recorded pin, advanced to the clock of a look.
func (c *Center) advance(ctx context.Context, k *call, v view) (lease.Pin, error) {
	if k.loss(v) != "" || k.compares && v.incarnation == "" {
		return k.pin, nil // what it allowed for counts
	}
	if k.pin.Change.Falls && v.quarantine > v.now {
		pin := k.pin
		pin.Change = lease.PinChange{} // while ranges begin ahead of the clock, nothing falls
		return pin, nil
	}
	if k.pin.Change == (lease.PinChange{}) {
		if v.hold == k.args["kept"] && v.inuse == k.args["inuse"] {
			return k.pin, nil
		}
		_, err := c.carry(ctx, k)
		return k.pin, err
	}
	if rules.Carries(k.pin, v.now) {
		if n, err := c.carry(ctx, k); err != nil || n > 0 { // the clock of the next look counts
			return k.pin, err
		}
	}
	if k.pin.Change.At <= 0 {
		return rules.Advanced(k.pin, v.now+pinTime), nil
	}
	return rules.Advanced(k.pin, v.now), nil
}

// carry has the slots carry the pin, and returns how many did not.
func (c *Center) carry(ctx context.Context, k *call) (n int64, err error) {
	const some = 10_000 // rows that one statement locks
	for from := int64(0); err == nil && n == 0 && from < k.req.Pool; from += some {
		n, err = c.conn.Exec(ctx, nil, "carry", k.args.With(sqlconn.Args{"from": from, "to": from + some - 1}))
	}
	return n, err
}

// pinTime is how long after a look, in milliseconds, the end of a change that counts from the look can
// be written.
const pinTime = 1000

// repin replaces the recorded pin if it is stored, and keeps the new one. now is an earlier time of the
// server's clock. Joining depends on nothing that was read, so it may happen on any server: members
// that have joined detect a loss.
func (c *Center) repin(ctx context.Context, k *call, stored, pin lease.Pin, now int64, joins bool) error {
	a := sqlconn.Args{"pin": stored.String(), "newpin": pin.String(), "until": int64(math.MaxInt64), "anywhere": int64(1)}
	if !joins && pin.Change.At > 0 { // the end of a change is decided
		a["until"] = now + pinTime
	}
	if !joins && max(stored.Change.At, pin.Change.At) > 0 {
		a["anywhere"] = int64(0)
	}
	n, err := c.conn.Exec(ctx, nil, "repin", k.args.With(a))
	if n > 0 {
		k.pinned(pin)
	}
	return err
}

// loss returns why grants may have been forgotten, or an empty string. A row has the lease and
// the mark of a worker id.
func (k *call) loss(v view) string {
	e := rules.Evidence{
		Meta:  v.meta(),
		Empty: !v.there && v.known == 0, Pool: k.req.Pool, Leases: v.known, Marks: k.req.Pool, Now: v.now,
	}
	if k.compares {
		e.Incarnation = v.incarnation
	}
	return e.Loss()
}

// beginQuarantine starts a quarantine, creates missing slots, and updates v if it did. A change
// takes effect only if the server that runs it sees the loss too, so a look at a replica
// starts nothing.
//
// The quarantine does not cover what others lend and lose while beginQuarantine pauses. The marks of
// the slots that it then creates do, by the clock of the statement that creates them.
func (c *Center) beginQuarantine(ctx context.Context, k *call, v *view, reason string) (done bool, err error) {
	k.clock()
	reason = text(reason, 2000)
	hold := rules.Forgotten(lease.ParsePin(v.pin), k.pin, v.now)
	a := k.args.With(sqlconn.Args{"reason": reason, "hold": hold})
	change := "lost"
	if !v.there {
		change = "open"
	}
	now, done, err := c.conn.Change(ctx, nil, change, a)
	if err != nil {
		return false, err
	}
	// The quarantine may also be recorded already.
	filled, err := c.conn.Exec(ctx, nil, "fill", a)
	if err == nil && filled > 0 {
		// Raise the quarantine to the new marks, or borrowers would find no free slot at its end.
		var later int64
		var raised bool
		later, raised, err = c.conn.Change(ctx, nil, "lost", a.With(sqlconn.Args{"pool": int64(lease.MaxPool + 1)})) // whatever is there
		if raised {
			now = later
		}
	}
	if err != nil || !done {
		return false, err
	}
	v.now, v.quarantine, v.reason = now, max(v.quarantine, now+hold), reason
	return filled > 0 || v.known >= k.req.Pool, nil
}

// text returns s in at most n characters that every database stores.
func text(s string, n int) string {
	plain := strings.Map(func(r rune) rune {
		if r == 0 || r == utf8.RuneError {
			return '?'
		}
		return r
	}, s)
	if r := []rune(plain); len(r) > n {
		return string(r[:n])
	}
	return plain
}

// ms returns d in milliseconds.
func ms(d time.Duration) int64 { return d.Milliseconds() }
