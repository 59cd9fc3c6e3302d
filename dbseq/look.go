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

// A call is one verb on its way.
type call struct {
	req   lease.Request
	start time.Time
	args  args

	borrow   bool // something new is asked for
	veto     bool // the caller's clock counts
	compares bool // incarnations
}

func (c *Center) newCall(req lease.Request, borrow bool) *call {
	return &call{
		req: req, start: time.Now(), borrow: borrow, veto: borrow && req.Local != 0, compares: c.compares(),
		args: args{
			"ns": req.Namespace, "pin": text(req.Pin(), 255), "pool": req.Pool, "first": req.First, "last": req.Last,
			"owner": hex.EncodeToString(req.Owner[:]), "holder": text(req.Holder, 255),
			"ttl": ms(req.TTL), "maxttl": ms(req.MaxTTL), "skew": ms(req.Skew), "ahead": ms(req.Ahead),
			"slot": int64(-1),
			"lo":   int64(0), "hi": int64(math.MaxInt64),
		},
	}
}

// clock bounds the server's clock by the caller's, as it is by now.
func (k *call) clock() {
	if k.veto {
		local := k.req.Local + time.Since(k.start).Milliseconds()
		k.args["lo"], k.args["hi"] = local-ms(lease.MaxClockError), local+ms(lease.MaxClockError)
	}
}

// refuse is the veto of the caller's clock.
func (k *call) refuse(now int64) error {
	k.clock()
	if !k.veto || k.args["lo"].(int64) <= now && now <= k.args["hi"].(int64) {
		return nil
	}
	return &lease.ClockError{Namespace: k.req.Namespace, Center: time.UnixMilli(now), Local: time.UnixMilli(k.req.Local)}
}

// lead is how far ahead of the clock a range may begin: not at all but where all ranges
// do, since the clock has not passed what may have been forgotten.
func (k *call) lead(v view) int64 {
	if v.quarantine < v.now {
		return 0
	}
	return ms(k.req.Ahead)
}

// quarantined refuses a floor that lies too far ahead because of a quarantine.
func (k *call) quarantined(now, floor int64, reason string) error {
	if floor < now+ms(k.req.Ahead) {
		return nil
	}
	return &lease.QuarantineError{
		Namespace: k.req.Namespace, Reason: printable.Text(reason),
		Now: time.UnixMilli(now), Until: time.UnixMilli(floor - ms(k.req.Ahead) + 1),
	}
}

// ceiling is that above a floor: TTL from now, or from a floor that lies ahead. It is
// never above now + MaxTTL, which is what bounds a quarantine.
func (k *call) ceiling(floor, now int64) int64 {
	return max(now+ms(k.req.TTL), min(floor+ms(k.req.TTL), now+ms(k.req.MaxTTL)))
}

// A view is what one statement saw of a namespace.
type view struct {
	now          int64
	incarnation  string // of the server that answered
	there        bool   // the record of the namespace is
	pin          string
	recorded     string // incarnation
	former       string // incarnation
	quarantine   int64
	reason       string
	total, known int64 // slots; those of them below Pool
	soonest      int64 // when the first slot of the range passes, less the lead
	ahead        int64 // the same where ranges may begin ahead of the clock
	held         record
}

// A record is one slot.
type record struct {
	there                                                        bool
	now, worker, token, ver, ticket, since, floor, expires, mark int64
}

// unexpired: the lease runs for the skew at least. Less could be a former owner's that
// a failover revived.
func (k *call) unexpired(r record) bool { return r.there && r.expires >= r.now+ms(k.req.Skew) }

// look is one statement. The changes that follow it go by the quarantine that it saw.
func (c *Center) look(ctx context.Context, k *call) (v view, err error) {
	v, _, err = one(ctx, c.conn, "look", k.args, func(v *view) []any {
		return []any{
			&v.now, &v.incarnation, &v.there, &v.pin, &v.recorded, &v.former, &v.quarantine, &v.reason,
			&v.total, &v.known, &v.soonest, &v.ahead,
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
		err = cmp.Or(within("quarantine_ms", v.quarantine, topTime), v.held.check())
	}
	return v, err
}

// survey looks, refuses a member that differs, and starts a quarantine when records
// are missing or another server answers, until it finds all in order.
func (c *Center) survey(ctx context.Context, k *call) (view, error) {
	for range rounds {
		v, err := c.look(ctx, k)
		if err != nil {
			return v, err
		}
		if err := k.refuse(v.now); err != nil {
			return v, err
		}
		if pin := k.args["pin"].(string); v.there && v.pin != pin {
			return v, &lease.MismatchError{Namespace: k.req.Namespace, Stored: v.pin, Asked: pin}
		}
		reason := k.loss(v)
		if reason == "" {
			return v, nil
		}
		if v.there && k.compares && v.incarnation != v.recorded {
			// It may be another kind of server as well.
			if err := c.server(ctx, true); err != nil {
				return v, err
			}
		}
		// Who asks for something new is answered at once. Who holds something is by what
		// is on record then.
		if done, err := c.mourn(ctx, k, &v, reason); err != nil || done && k.borrow {
			return v, err
		}
	}
	return view{}, unsettled()
}

// loss says what shows that grants may have been forgotten, or nothing.
func (k *call) loss(v view) string {
	if !v.there && v.total == 0 {
		return "nothing is on record for this namespace"
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
			change += ", back and forth: several servers answer for it: let its address lead to one of them (quarantine: never is for a database that loses no acknowledged write, which a Galera cluster is not)"
		}
		seen = append(seen, change)
	}
	return strings.Join(seen, "; ")
}

// mourn starts a quarantine and makes missing slots anew. Each change holds only where
// the server that runs it sees the loss too, so a look that went to a replica starts
// nothing. The quarantine is on record before there is a slot without a mark. v is
// what is on record then, if it was done.
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
	if err != nil || !done {
		return false, err
	}
	v.now, v.quarantine, v.reason = now, max(v.quarantine, now+hold), reason
	_, err = c.exec(ctx, "fill", a)
	return true, err
}

// text is s as databases take it, in at most n characters.
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

// ms is d in milliseconds.
func ms(d time.Duration) int64 { return d.Milliseconds() }
