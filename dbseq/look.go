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

	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/lease"
)

// A call is one Acquire, Renew, Release, Init or Mend.
type call struct {
	req   lease.Request
	start time.Time
	args  args

	borrow   bool // asks for a new grant
	veto     bool // the caller's clock may refuse the server's
	compares bool // whether incarnations are compared
}

func (c *Center) newCall(req lease.Request, borrow bool) *call {
	return &call{
		req: req, start: time.Now(), borrow: borrow, veto: borrow && req.Local != 0, compares: c.compares(),
		args: args{
			"ns": req.Namespace, "pin": text(req.Pin().String(), 255), "pool": req.Pool, "first": req.First, "last": req.Last,
			"owner": hex.EncodeToString(req.Owner[:]), "holder": text(req.Holder, 255),
			"ttl": ms(req.TTL), "maxttl": ms(req.MaxTTL), "skew": ms(req.Skew), "ahead": ms(req.Ahead),
			"slot": int64(-1),
			"lo":   int64(0), "hi": int64(math.MaxInt64),
		},
	}
}

// clock bounds the server's clock by the caller's current time.
func (k *call) clock() {
	if k.veto {
		local := k.req.Local + time.Since(k.start).Milliseconds()
		k.args["lo"], k.args["hi"] = local-ms(lease.MaxClockError), local+ms(lease.MaxClockError)
	}
}

// refuse returns a *lease.ClockError if the caller's clock differs too much from now.
func (k *call) refuse(now int64) error {
	k.clock()
	if !k.veto || k.args["lo"].(int64) <= now && now <= k.args["hi"].(int64) {
		return nil
	}
	return &lease.ClockError{Namespace: k.req.Namespace, Center: time.UnixMilli(now), Local: time.UnixMilli(k.req.Local)}
}

// lead returns how far ahead of the clock the mark of a free slot may lie. Only while
// the clock has not passed the quarantine, and so every range begins ahead of the
// clock, is that more than zero.
func (k *call) lead(v view) int64 {
	if v.quarantine < v.now {
		return 0
	}
	return ms(k.req.Ahead)
}

// quarantined refuses a floor that a quarantine puts too far ahead of the clock.
func (k *call) quarantined(now, floor int64, reason string) error {
	if floor < now+ms(k.req.Ahead) {
		return nil
	}
	return &lease.QuarantineError{
		Namespace: k.req.Namespace, Reason: printable.Text(reason),
		Now: time.UnixMilli(now), Until: time.UnixMilli(floor - ms(k.req.Ahead) + 1),
	}
}

// ceiling returns TTL from now, or from a floor that lies ahead of the clock. It never
// exceeds now + MaxTTL, because a quarantine must cover every ceiling.
func (k *call) ceiling(floor, now int64) int64 {
	return max(now+ms(k.req.TTL), min(floor+ms(k.req.TTL), now+ms(k.req.MaxTTL)))
}

// A view is what one statement saw of a namespace.
type view struct {
	now         int64
	incarnation string // of the server that answered, empty if it does not reveal it
	there       bool   // the namespace has a record
	pin         string
	recorded    string // the incarnation on record
	former      string // the incarnation before
	quarantine  int64
	reason      string
	known       int64 // slots below Pool
	beyond      bool  // there are others
	soonest     int64 // the last millisecond before the first slot of the range is free
	ahead       int64 // the same if ranges may begin ahead of the clock
	held        record
}

// A record is one slot.
type record struct {
	there                                                        bool
	now, worker, token, ver, ticket, since, floor, expires, mark int64
}

// unexpired reports whether the lease runs for at least the skew. A lease with less left
// may have expired before a failover that set the clock back and lost the next grant.
func (k *call) unexpired(r record) bool { return r.there && r.expires >= r.now+ms(k.req.Skew) }

// look reads the namespace in one statement. Later changes depend on the quarantine
// that it saw.
func (c *Center) look(ctx context.Context, k *call) (v view, err error) {
	v, _, err = one(ctx, c.conn, "look", k.args, func(v *view) []any {
		return []any{
			(*clock)(&v.now), &v.incarnation, &v.there, &v.pin, &v.recorded, &v.former, &v.quarantine, &v.reason,
			&v.known, &v.beyond, &v.soonest, &v.ahead,
			&v.held.there, &v.held.worker, &v.held.token, &v.held.ver, &v.held.ticket,
			&v.held.since, &v.held.floor, &v.held.expires, &v.held.mark,
		}
	})
	lead := k.lead(v)
	if lead > 0 {
		v.soonest = v.ahead
	}
	v.held.now, k.args["quarantine"], k.args["lead"] = v.now, v.quarantine, lead
	if err == nil {
		err = cmp.Or(pinSize(v.pin), within("quarantine_ms", v.quarantine, topTime), v.held.check())
	}
	return v, err
}

// survey reads the namespace and refuses a member with another pin. If records are
// missing or another server answers, it starts a quarantine and reads again, until it
// finds everything in order.
func (c *Center) survey(ctx context.Context, k *call) (view, error) {
	for range rounds {
		v, err := c.look(ctx, k)
		if err != nil {
			return v, err
		}
		if err := k.refuse(v.now); err != nil {
			return v, err
		}
		if v.there && v.pin != k.args["pin"] {
			return v, &lease.MismatchError{Namespace: k.req.Namespace, Stored: lease.ParsePin(v.pin), Asked: k.req.Pin()}
		}
		if k.compares && v.incarnation == "" {
			if _, err := c.identify(ctx); err != nil {
				return v, err
			}
			continue // it may be another server
		}
		reason := k.loss(v)
		if reason == "" {
			return v, nil
		}
		if v.there && k.compares && v.incarnation != v.recorded {
			// The new server may also be of another kind.
			if err := c.server(ctx, true); err != nil {
				return v, err
			}
		}
		// A borrower is answered at once. A holder is answered by the new record, which
		// the next look reads.
		if done, err := c.mourn(ctx, k, &v, reason); err != nil || done && k.borrow {
			return v, err
		}
	}
	return view{}, unsettled()
}

// loss returns why grants may have been forgotten, or an empty string.
func (k *call) loss(v view) string {
	if !v.there && v.known == 0 && !v.beyond {
		return lease.NothingOnRecord
	}
	var seen []string
	if !v.there {
		seen = append(seen, "the record of the namespace was missing")
	}
	if v.known < k.req.Pool {
		seen = append(seen, fmt.Sprintf("%d of %d slot records were missing", k.req.Pool-v.known, k.req.Pool))
	}
	if v.there && k.compares && v.incarnation != v.recorded {
		change := fmt.Sprintf("incarnation of the store changed from %q to %q", printable.Text(v.recorded), v.incarnation)
		if v.incarnation == v.former && v.quarantine >= v.now {
			change += ", back and forth: several servers answer at one address: use the address of one of them (quarantine: never is only for a database that loses no acknowledged write, unlike a Galera cluster)"
		}
		seen = append(seen, change)
	}
	return strings.Join(seen, "; ")
}

// mourn starts a quarantine, creates missing slots, and updates v if it did. A change
// takes effect only if the server that runs it sees the loss too, so a look at a replica
// starts nothing.
//
// The quarantine does not cover what others lend and lose while mourn pauses. The marks of
// the slots that it then creates do, by the clock of the statement that creates them.
func (c *Center) mourn(ctx context.Context, k *call, v *view, reason string) (done bool, err error) {
	k.clock()
	reason = text(reason, 2000)
	hold := ms(k.req.MaxTTL + k.req.Skew)
	a := k.args.with(args{"reason": reason, "hold": hold})
	change := "lost"
	if !v.there {
		change = "open"
	}
	now, done, err := c.change(ctx, change, a)
	if err != nil {
		return false, err
	}
	// The quarantine may also be on record already.
	filled, err := c.exec(ctx, "fill", a)
	if err == nil && filled > 0 {
		// Raise the quarantine to the new marks, or borrowers would find no free slot at its end.
		var later int64
		var raised bool
		later, raised, err = c.change(ctx, "lost", a.with(args{"pool": int64(lease.MaxPool + 1)})) // whatever is there
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
