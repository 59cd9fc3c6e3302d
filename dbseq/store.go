package dbseq

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/snowlease/snowlease/internal/engine"
	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/internal/sqlconn"
	"github.com/snowlease/snowlease/lease"
)

// store is the engine.Store of a Center.
type store struct {
	*sqlconn.Conn
	beside *sqlconn.Conn // of Numbers
	ready  atomic.Bool   // the tables exist
}

var _ engine.Store = (*store)(nil)

// String is the name of the database.
func (s *store) String() string { return s.Name }

// A row is a slot as it is on record.
type row struct {
	rules.Slot
	there               bool
	now                 int64 // the server's clock
	owner               string
	worker, ver, ticket int64
}

func (r *row) fields() []any {
	return []any{
		&r.there, &r.now, &r.worker, &r.owner, &r.Holder, &r.Token, &r.ver, &r.ticket, &r.Since, &r.Floor, &r.Expires, &r.Mark, &r.Hold, &r.Used,
	}
}

// A look is what one statement saw of a namespace, and of the slot of the caller.
type look struct {
	incarnation     string // of the server that answered, empty if it does not reveal it
	there           bool   // the namespace has a record
	same            bool   // the server is the one on record
	pin             string
	rules.Meta            // without its Pin
	known           int64 // slots below the pool
	soonest, ahead  int64 // the last millisecond before the first slot of the range is free, without and with a lead
	greatest, least int64 // hold of the slots
	inuse           int64 // the greatest used of the slots
	shape           string
	own             row
}

// kept is what Load saw, for Swap.
type kept struct {
	rows     []row  // by those of View.Slots
	ticket   int64  // that was drawn
	identity string // of the statements
}

// Load implements engine.Store, in one statement. A borrow that can be lent something takes two more: it
// draws a ticket, and reads the slot that this chooses, or the least recently used one.
func (s *store) Load(ctx context.Context, namespace string, want engine.Want) (v engine.View, err error) {
	v, err = s.load(ctx, namespace, want)
	if s.TableMissing(err) && s.ready.Swap(false) {
		v, err = s.load(ctx, namespace, want)
	}
	if s.TableMissing(err) && !s.ready.Load() {
		if err = s.NoTable("slot"); !want.All {
			err = fmt.Errorf("%w: %w", lease.ErrUnknown, s.NoTable("meta"))
		}
	}
	return v, s.Conn.Wrap(ctx, verbs[want.Verb], err)
}

func (s *store) load(ctx context.Context, namespace string, want engine.Want) (v engine.View, err error) {
	r := want.Request
	joins := r.Pool > 0
	if err = s.Server(ctx, false); err == nil && joins {
		err = s.prepare(ctx, r)
	}
	if err != nil {
		return v, err
	}
	if want.Verb == "incarnation" {
		v.Incarnation, err = s.Identify(ctx)
		return v, err
	}
	a := sqlconn.Args{
		"ns": namespace, "pool": cmp.Or(r.Pool, lease.MaxPool), "first": r.First, "last": r.Last, "slot": want.Worker,
		"owner": "-", "spent": "-", "skew": ms(r.Skew), "ahead": ms(rules.By(r.Pin(), r).MaxLead),
	}
	if want.Borrow {
		a["owner"], a["spent"] = text128(r.Owner), text128(rules.Spent(r.Owner))
	}
	identity := s.Identity()
	l, lead, err := s.look(ctx, a, want)
	if err != nil {
		return v, err
	}
	if joins && !l.there { // rows beyond the caller's pool show the pin that was lost, which may refuse the caller
		all, _, err := s.look(ctx, a.With(sqlconn.Args{"pool": int64(lease.MaxPool)}), want)
		if err != nil {
			return v, err
		}
		l.greatest, l.least, l.inuse, l.shape = all.greatest, all.least, all.inuse, all.shape
	}
	if joins && l.there && !l.same { // the new server may also be of another kind
		if err := s.Server(ctx, true); err != nil {
			return v, err
		}
	}
	v = engine.View{Stamp: &engine.Stamp{}, Now: time.UnixMilli(l.own.now), Incarnation: l.incarnation}
	v.Meta, v.Shape, v.Part = l.Meta, l.shape, &rules.Part{Leases: l.known, Marks: l.known, Any: l.greatest > 0, Hold: l.greatest, Least: l.least, Used: l.inuse}
	var k kept
	switch {
	case l.own.there:
		k.rows = []row{l.own}
	case want.All:
		a["pool"] = cmp.Or(v.Meta.Pin.Pool, lease.MaxPool) // others may have written rows beyond it
		k.rows, err = sqlconn.All(ctx, s.Conn, nil, "slots", a, (*row).fields)
	case !want.Borrow || l.known < r.Pool:
	case l.soonest >= l.own.now:
		v.Part.Soonest, err = l.soonest+1, rules.CheckNumber("the time at which a worker id is free", l.soonest)
	default:
		k, err = s.choose(ctx, want, a.With(sqlconn.Args{"lead": lead, "quarantine": l.Quarantine}))
		if len(k.rows) > 0 {
			v.Now = time.UnixMilli(k.rows[0].now)
		}
	}
	for i := range k.rows {
		r := &k.rows[i]
		owner, _ := hex.DecodeString(r.owner) // nobody's, if it is none
		copy(r.Owner[:], owner)
		err = cmp.Or(err, r.Check(r.worker), rules.CheckNumber(fmt.Sprintf("ver of worker id %d", r.worker), r.ver))
		r.HasLease, r.HasMark = true, true
		v.Part.Workers, v.Slots = append(v.Part.Workers, r.worker), append(v.Slots, r.Slot)
	}
	k.identity = identity
	v.Kept = k
	return v, err
}

// look reads the namespace, and returns how far ahead of the clock a range may begin.
func (s *store) look(ctx context.Context, a sqlconn.Args, want engine.Want) (l look, lead int64, err error) {
	r := want.Request
	for range sqlconn.Rounds {
		l, _, err = sqlconn.One(ctx, s.Conn, nil, "look", a, func(l *look) []any {
			return append([]any{
				&l.incarnation, &l.there, &l.same, &l.pin, &l.Incarnation, &l.Former, &l.Quarantine, &l.Reason, &l.known, &l.soonest, &l.ahead, &l.greatest, &l.least, &l.inuse, &l.shape,
			}, l.own.fields()...)
		})
		if err == nil && l.there {
			l.Pin = lease.ParsePin(l.pin)
			err = l.Check()
		}
		if err != nil {
			return l, 0, err
		}
		if r.Pool > 0 && l.incarnation == "" && s.Compares() {
			if _, err := s.Identify(ctx); err != nil {
				return l, 0, err
			}
			continue // it may be another server
		}
		lead = rules.Lead(l.Quarantine, l.own.now, rules.By(cmp.Or(l.Pin, r.Pin()), r))
		if lead > 0 {
			l.soonest = l.ahead
		}
		if lead == 0 || lead == a["ahead"] {
			return l, lead, nil
		}
		a["ahead"] = lead
	}
	return l, 0, sqlconn.Unsettled()
}

// choose draws a ticket, and reads the free slot that it chooses, or else the least recently used one.
// After a lost race it reads several of these, of which the engine chooses.
func (s *store) choose(ctx context.Context, want engine.Want, a sqlconn.Args) (k kept, err error) {
	at := int64(-1)
	if k.ticket, _, err = s.Change(ctx, nil, "ticket", a); err == nil {
		at = want.Request.First + k.ticket%(want.Request.Last-want.Request.First+1)
	} else if !s.UsedUp(err) && !s.TableMissing(err) { // these are harmless: tickets only spread borrowers over the slots
		return k, err
	}
	a["slot"], a["most"] = at, min(1+31*int64(want.Skip), 32)
	if k.rows, err = sqlconn.All(ctx, s.Conn, nil, "free", a, (*row).fields); len(k.rows) > 0 && k.rows[0].worker == at {
		k.rows = k.rows[:1]
	}
	if len(k.rows) == 0 { // others were faster
		s.forget(ctx, a, k.ticket, []int64{k.ticket})
	}
	slices.SortFunc(k.rows, func(a, b row) int { return cmp.Compare(a.worker, b.worker) })
	return k, err
}

// pinTime is how long after a look, in milliseconds, the end of a change that counts from the look can
// be written.
const pinTime = 1000

// Swap implements engine.Store: one statement writes the record of the namespace, and one a slot. Each
// compares what it depends on, with the server that answered the look, and counts by its own clock. So
// no pause between them matters, nor a client that sends one again, nor who dies in between. Only Init
// needs a transaction, since it sets no quarantine, and Retire, which changes all or nothing.
func (s *store) Swap(ctx context.Context, namespace string, before engine.View, after rules.Namespace) (err error) {
	k, now := before.Kept.(kept), before.Now.UnixMilli()
	was, is := before.Meta, after.Meta
	a := sqlconn.Args{
		"ns": namespace, "pool": after.Part.Leases, "known": before.Part.Leases, "greatest": before.Part.Hold, "shown": before.Part.Used, "kept": ms(is.Pin.Hold()), "inuse": rules.UsedHold(is.Pin), "shape": after.Shape, "seen": before.Shape,
		"lo": now, "hi": now + ms(lease.MaxClockError), "server": before.Incarnation,
		"pin": was.Pin.String(), "quarantine": was.Quarantine, "hold": int64(0),
		"recorded": was.Incarnation, "incarnation": is.Incarnation, "former": is.Former, "reason": is.Reason, "until": is.Quarantine,
	}
	begins := is.Quarantine != was.Quarantine
	if begins {
		a["hold"] = a["kept"]
	}
	if at := is.Pin.Change.At; at > 0 && at != was.Pin.Change.At { // the end of a change is decided
		a["hi"] = now + pinTime
		is.Pin.Change.At += pinTime
	}
	pin := []rune(is.Pin.String()) // of a retired namespace, it includes the reason
	a["newpin"] = string(pin[:min(len(pin), 255)])
	puts, tickets := k.puts(before, after)
	switch {
	case begins:
		*before.Stamp, err = s.begin(ctx, a, was == rules.Meta{})
	case before.Want.Once:
		err = s.AtOnce(ctx, func(tx sqlconn.Runner) error {
			// The loser of a race waits here and then finds the row. A slot that is there is of a
			// namespace that lost the rest.
			_, done, err := s.Change(ctx, tx, "open", a)
			if err == nil && !done {
				err = engine.ErrPartly
			}
			if err == nil {
				err = s.write(ctx, tx, "fill", a, after.Part.Leases, engine.ErrPartly)
			}
			return err
		})
	case is.Pin.Retired && !was.Pin.Retired:
		err = s.AtOnce(ctx, func(tx sqlconn.Runner) error {
			err := s.write(ctx, tx, "meta", a, 1, engine.ErrChanged)
			if err == nil {
				_, err = s.Exec(ctx, tx, "retire", a)
			}
			return cmp.Or(err, s.recount(ctx, tx, k.identity)) // nobody could notice it later
		})
	default:
		err = s.rewrite(ctx, a, was != is, carries(before.Part, after.Part), puts)
	}
	if err != nil || begins {
		tickets = []int64{k.ticket}
	}
	s.forget(ctx, a, k.ticket, tickets)
	if err == nil && before.Want.Lends { // other calls leave the older identity on record, so the next borrow sees the loss
		err = s.recount(ctx, nil, k.identity)
	}
	if errors.Is(err, engine.ErrChanged) {
		return err
	}
	if s.TableMissing(err) {
		s.ready.Store(false)
	}
	return s.Conn.Wrap(ctx, verbs[before.Want.Verb], err)
}

// recount has the engine look again if the server has begun to follow another since it was identity:
// what was read and written may be of a primary that lagged.
func (s *store) recount(ctx context.Context, tx sqlconn.Runner, identity string) error {
	changed, err := s.Recount(ctx, tx, identity)
	if changed {
		err = engine.ErrChanged
	}
	return err
}

// begin begins a quarantine, and creates the missing slots. Then it raises the quarantine to their
// marks, or borrowers would find no free slot at its end.
func (s *store) begin(ctx context.Context, a sqlconn.Args, opens bool) (stamp engine.Stamp, err error) {
	count := func(now int64) {
		stamp = engine.Stamp{Now: now, Quarantine: max(a["until"].(int64), now+a["hold"].(int64))}
	}
	record := "meta"
	if opens {
		record = "open"
	}
	now, done, err := s.Change(ctx, nil, record, a)
	if err == nil && !done {
		err = engine.ErrChanged
	}
	if err != nil {
		return stamp, err
	}
	if count(now); a["pool"] == a["known"] {
		return stamp, nil
	}
	filled, err := s.Exec(ctx, nil, "fill", a)
	if err == nil && filled == 0 { // others were faster
		return stamp, engine.ErrChanged
	}
	if err == nil {
		now, done, err = s.Change(ctx, nil, "raise", a)
	}
	if done {
		count(now)
	}
	return stamp, err
}

// rewrite changes the records of a namespace that has one.
func (s *store) rewrite(ctx context.Context, a sqlconn.Args, changes, carries bool, puts []sqlconn.Args) error {
	if changes {
		if err := s.write(ctx, nil, "meta", a, 1, engine.ErrChanged); err != nil {
			return err
		}
	}
	const some = 10_000 // rows that one statement locks
	for from := int64(0); carries && from < a["pool"].(int64); from += some {
		if _, err := s.Exec(ctx, nil, "carry", a.With(sqlconn.Args{"from": from, "to": from + some - 1})); err != nil {
			return err
		}
	}
	for _, put := range puts {
		if carries {
			put["washold"], put["wasused"] = a["kept"], a["inuse"]
		}
		n, err := s.ExecOnce(ctx, "put", a.With(put)) // who loses against others looks for another slot
		if err == nil && n == 0 || s.Transient(err) {
			err = engine.ErrChanged
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// carries reports whether the slots are to show another pin than they do.
func carries(before, after *rules.Part) bool {
	return before.Any && (before.Hold != after.Hold || before.Least != after.Least || before.Used != after.Used)
}

// write runs a statement that must change a number of rows.
func (s *store) write(ctx context.Context, tx sqlconn.Runner, name string, a sqlconn.Args, rows int64, otherwise error) error {
	n, err := s.Exec(ctx, tx, name, a)
	if err == nil && n != rows {
		return otherwise
	}
	return err
}

// puts returns the parameters of the slots that differ, and the tickets by which they were lent before.
func (k kept) puts(before engine.View, after rules.Namespace) (puts []sqlconn.Args, tickets []int64) {
	want := before.Want
	for i, slot := range after.Slots {
		r, was, ticket, last := k.rows[i], before.Slots[i], k.rows[i].ticket, int64(math.MaxInt64)
		// A grant that was on record already is written once more: what a look shows may not be
		// committed, or not be on the standbys, but once a later write is, that is.
		again := want.Lends && slot.Owner == want.Request.Owner && after.Equal(before.Namespace)
		if slot == was && !again {
			continue
		}
		switch {
		case slot.Since == 0:
			ticket = 0
			tickets = append(tickets, r.ticket)
		case slot.Since != was.Since:
			ticket, last = k.ticket, slot.Expires-1
			tickets = append(tickets, r.ticket)
		default:
			last = was.Expires - 1
		}
		holder := strings.ToValidUTF8(strings.ReplaceAll(slot.Holder, "\x00", "?"), "?") // which every database stores
		puts = append(puts, sqlconn.Args{
			"slot": r.worker, "ver": r.ver, "wastoken": was.Token, "wasexpires": was.Expires, "wasmark": was.Mark, "washold": was.Hold, "wasused": was.Used, "hi": last,
			"owner": text128(slot.Owner), "holder": holder, "ticket": ticket, "kept": slot.Hold, "inuse": slot.Used,
			"token": slot.Token, "since": slot.Since, "floor": slot.Floor, "expires": slot.Expires, "mark": slot.Mark,
		})
	}
	return puts, tickets
}

// forget deletes used tickets and some old ones that killed processes left. It ignores
// errors and gives up after a second, because nothing depends on tickets, but a grant that
// is answered late is lost.
func (s *store) forget(ctx context.Context, a sqlconn.Args, newest int64, used []int64) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for _, ticket := range used {
		if ticket > 0 {
			_, _ = s.ExecOnce(ctx, "forget", a.With(sqlconn.Args{"ticket": ticket, "old": cmp.Or(newest, ticket) - 100*a["pool"].(int64)}))
		}
	}
}

// Lend implements engine.Store: it leaves it to Load and Swap.
func (s *store) Lend(context.Context, lease.Request) (g lease.Grant, done bool, err error) {
	return g, false, nil
}

// Renew implements engine.Store, in one statement that reads two rows by their keys.
func (s *store) Renew(ctx context.Context, g lease.Grant) (renewed lease.Grant, done bool, err error) {
	pin, ok := g.Pinned.Join(g.Request)
	if !ok || pin != g.Pinned || pin.Change != (lease.PinChange{}) || !s.ready.Load() {
		return g, false, nil
	}
	by, identity := g, s.Identity()
	by.Request = rules.By(pin, g.Request)
	now, done, err := s.Change(ctx, nil, "renew", sqlconn.Args{
		"ns": g.Namespace, "slot": g.Worker, "owner": text128(g.Owner), "token": g.Token, "floor": g.Floor, "ceiling": g.Ceiling,
		"pin": pin.String(), "ttl": ms(by.TTL), "maxttl": ms(by.MaxTTL), "skew": ms(rules.Held(g, pin).Skew),
	})
	if err == nil && done {
		err = s.recount(ctx, nil, identity)
	}
	if err != nil || !done {
		if s.TableMissing(err) || errors.Is(err, engine.ErrChanged) {
			err = nil // Load creates it, or sees the loss
		}
		return g, false, s.Conn.Wrap(ctx, verbs["renew"], err)
	}
	// The update has stored at least this ceiling.
	g.Pinned, g.Now, g.Ceiling = pin, now, rules.Slot{Floor: g.Floor}.Extended(now, by).Mark
	return g, true, nil
}

// verbs are what errors say that failed.
var verbs = map[string]string{
	"acquire": "acquire a worker id", "renew": "renew the worker id", "release": "give back the worker id", "init": "open the namespace", "slots": "list worker ids",
	"incarnation": "read which server this is", "record": "read the record of the namespace", "quarantine": "begin a quarantine",
	"revoke": "take back the worker id", "retire": "retire the namespace",
}

// Wrap implements engine.Store.
func (s *store) Wrap(verb, _ string, err error) error {
	return s.Conn.Wrap(context.Background(), verbs[verb], err)
}

func text128(o lease.Owner) string {
	if o == (lease.Owner{}) {
		return ""
	}
	return hex.EncodeToString(o[:])
}

// ms returns d in milliseconds.
func ms(d time.Duration) int64 { return d.Milliseconds() }
