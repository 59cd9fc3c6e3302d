package simulate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/lease"
)

// A search lets members call dbseq on a SQLite. Between any two statements of a call, it plays what can
// happen there: other calls, losses of any records, failovers to an older copy, and time that passes. A
// statement that changes records may be sent again after that.
type search struct {
	*SQLite
	dice    *rand.Rand
	outer   lease.Center
	inner   lease.Center // for calls between the statements of others
	within  bool         // between two statements
	differ  bool         // members have different times
	members []*searcher
	loans   []*span
	copies  []func() error
	events  []string
	broken  string
	script  func() // in place of random events between statements
}

// A searcher is a process that holds a worker id or wants one.
type searcher struct {
	request lease.Request
	grant   lease.Grant  // without a TTL: none
	center  lease.Center // of its own, for calls at once
}

// A span is a range that was lent.
type span struct {
	owner                  lease.Owner
	worker, floor, ceiling int64
}

func newSearch(seed int, p scene, changes map[*regexp.Regexp]string) (*search, error) {
	s := &search{dice: rand.New(rand.NewPCG(uint64(seed), 4))}
	var err error
	if s.SQLite, err = newSQLite(); err != nil {
		return nil, err
	}
	s.link.change = func(text string) string {
		for pattern, by := range changes {
			text = pattern.ReplaceAllString(text, by)
		}
		return text
	}
	pool := int64(1 + s.dice.IntN(2))
	if s.differ = p.differ(); s.differ {
		pool = 2 // a slot that is left shows how long grants may last
	}
	for i := range pool + 1 {
		times := Times{second, second, second / 10}
		if s.differ && i%2 == 1 {
			times = Times{4 * second, 4 * second, second / 10}
		}
		s.members = append(s.members, &searcher{request: lease.Request{
			Namespace: namespace, Layout: "1", Pool: pool, Last: pool - 1,
			TTL: times.TTL, MaxTTL: times.MaxTTL, Skew: times.Skew, MaxLead: times.MaxTTL - 5*time.Millisecond,
		}})
	}
	centers := []*lease.Center{&s.outer, &s.inner}
	for _, m := range s.members {
		centers = append(centers, &m.center)
	}
	for _, c := range centers {
		if *c, err = dbseq.New(s.pool, dbseq.SQLite); err != nil {
			return nil, err
		}
	}
	r := s.members[0].request
	r.Owner = s.owner()
	if err := s.outer.Extras().Init(context.Background(), r); err != nil {
		return nil, err
	}
	s.link.between, s.link.again = s.between, s.again
	return s, nil
}

func (s *search) owner() (o lease.Owner) {
	for i := range o {
		o[i] = byte(s.dice.IntN(256))
	}
	return o
}

func (s *search) event(format string, args ...any) {
	at := fmt.Sprint(s.Now().UnixMilli(), " ")
	if s.within {
		at += "  between: "
	}
	s.events = append(s.events, at+fmt.Sprintf(format, args...))
}

// between plays some events in the middle of a call.
func (s *search) between() {
	if s.within || s.dice.IntN(3) > 0 {
		return
	}
	s.within = true
	if s.script != nil {
		s.script()
	} else {
		for range 2 + s.dice.IntN(8) {
			s.step(s.inner)
		}
	}
	s.within = false
}

// raise has the member with the greatest times hold a range by these. It is asked again and again, as a
// raise takes steps.
func (s *search) raise() {
	for range 4 + s.dice.IntN(24) {
		s.renew(s.inner, s.members[1])
		s.Step(time.Duration(s.dice.IntN(2)) * second / 2)
	}
}

// forget loses the record of the namespace, and that of the worker id that the member has.
func (s *search) forget() {
	defer func(within bool) { s.within = within }(s.within)
	s.within = true
	s.event("meta is lost, and worker id %d", s.members[1].grant.Worker)
	s.check(s.Lose(DropMeta, 0))
	if s.members[1].grant.TTL > 0 {
		s.check(s.Lose(DropLease, s.members[1].grant.Worker))
	}
}

// raisedMeanwhile gives a worker id back while another member raises the pin, and then loses what that
// one has. With late set, a record of the namespace is created meanwhile.
func (s *search) raisedMeanwhile(late bool) {
	first, last := s.members[0], s.members[2]
	if !late {
		s.script = func() {}
		s.renew(s.outer, first)
		for range 1 + s.dice.IntN(3) {
			s.renew(s.outer, s.members[1])
		}
		s.script = func() {
			for range 1 + s.dice.IntN(4) {
				s.renew(s.inner, s.members[1])
			}
		}
		if first.grant.TTL > 0 {
			s.release(s.outer, first)
		}
	} else {
		s.check(s.Lose(DropMeta, 0))
		s.script = func() { s.raise(); s.forget(); s.script = func() {} }
		s.renew(s.outer, last)
	}
	s.link.between = nil
	s.script = nil
	if !late {
		s.used(s.members[1])
		return
	}
	for range 20 {
		s.renew(s.outer, last)
		s.Step(second / 5)
		s.renew(s.outer, first)
	}
}

// failedOver has a worker id lent in the middle of a call, and then an older copy take over.
func (s *search) failedOver() {
	s.within = true
	restore, err := s.Snapshot()
	s.check(err)
	s.within = false
	s.script = func() {
		s.script = func() {}
		s.renew(s.inner, s.members[1])
		s.event("the copy takes over")
		s.check(errors.Join(restore(), s.Reincarnate()))
	}
	s.renew(s.outer, s.members[0])
}

// again reports whether a statement is sent again.
func (s *search) again() bool {
	if s.within || s.dice.IntN(10) > 0 {
		return false
	}
	s.event("sent again")
	return true
}

// step plays an event.
func (s *search) step(c lease.Center) {
	switch s.dice.IntN(8) {
	case 0, 1:
		s.pass()
	case 2:
		s.loss()
	default:
		s.call(c, s.members[s.dice.IntN(len(s.members))])
	}
}

func (s *search) pass() {
	by := []time.Duration{time.Millisecond, second / 2, second * 6 / 5, second * 6 / 5, 5 * second}[s.dice.IntN(5)]
	s.Step(by)
	s.event("%v pass", by)
}

// loss loses some records, or has an older copy take over. If members differ, something is left that
// shows how long grants may last, and that is of now.
func (s *search) loss() {
	defer func(within bool) { s.within = within }(s.within)
	s.within = true
	if s.differ || s.dice.IntN(3) > 0 {
		which := s.dice.IntN(1 << (s.members[0].request.Pool + 1))
		for i := range s.members[0].request.Pool + 1 {
			what, worker := DropLease, i-1
			if i == 0 {
				what, worker = DropMeta, 0
			}
			if which>>i&1 == 0 {
				continue
			}
			shows, err := s.Shows(what, worker)
			if err == nil && (shows || !s.differ) {
				s.event("%v %d", what, worker)
				err = s.Lose(what, worker)
			}
			s.check(err)
		}
		return
	}
	if restore, err := s.Snapshot(); len(s.copies) == 0 || s.dice.IntN(2) == 0 {
		s.check(err)
		s.copies = append(s.copies, restore)
		s.event("copy %d", len(s.copies))
		return
	}
	which := s.dice.IntN(len(s.copies))
	s.check(errors.Join(s.copies[which](), s.Reincarnate()))
	s.event("copy %d takes over as server %d", which+1, s.link.server)
}

func (s *search) check(err error) {
	if err != nil && s.broken == "" {
		s.broken = err.Error()
	}
}

// call has a member borrow, renew or give back.
func (s *search) call(c lease.Center, m *searcher) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if m.grant.TTL > 0 && s.dice.IntN(4) == 0 {
		s.giveBack(ctx, c, m)
	} else {
		s.ask(ctx, c, m)
	}
}

func (s *search) renew(c lease.Center, m *searcher) {
	s.ask(context.Background(), c, m)
}

func (s *search) release(c lease.Center, m *searcher) { s.giveBack(context.Background(), c, m) }

func (s *search) giveBack(ctx context.Context, c lease.Center, m *searcher) {
	g := m.grant
	m.grant = lease.Grant{}
	used := g.Floor + s.dice.Int64N(g.Ceiling-g.Floor+1)
	for _, l := range s.loans {
		if l.owner == g.Owner {
			l.ceiling = min(l.ceiling, used)
		}
	}
	s.event("%x gives back %d, used until %d", g.Owner[:2], g.Worker, used)
	err := c.Release(ctx, g, used)
	s.event("%x: %v", g.Owner[:2], kindOf(err))
}

// ask has a member borrow or renew.
func (s *search) ask(ctx context.Context, c lease.Center, m *searcher) {
	i := fmt.Sprintf("%d", m.request.MaxTTL/second)
	switch m.grant.TTL {
	case 0:
		if m.request.Owner == (lease.Owner{}) {
			m.request.Owner = s.owner()
		}
		req := m.request
		req.CallerTime = s.Now().UnixMilli()
		s.event("%x (%s s) borrows", req.Owner[:2], i)
		g, err := c.Acquire(ctx, req)
		s.event("%x: %v, %v", req.Owner[:2], g, kindOf(err))
		if err == nil && m.request.Owner == req.Owner { // nobody else called for it meanwhile
			m.grant, m.request.Owner = g, lease.Owner{}
			s.lent(g)
		}
	default:
		g := m.grant
		s.event("%x renews %d", g.Owner[:2], g.Worker)
		renewed, err := c.Renew(ctx, g)
		s.event("%x: %d (%d, %d], %v", g.Owner[:2], renewed.Worker, renewed.Floor, renewed.Ceiling, kindOf(err))
		switch {
		case m.grant.Owner != g.Owner: // given back meanwhile, so the answer comes too late
		case err == nil:
			m.grant = renewed
			s.lent(renewed)
		case errors.Is(err, lease.ErrLost):
			m.grant = lease.Grant{}
		}
	}
}

// lent notes a range, and whether another owner has a part of it.
func (s *search) lent(g lease.Grant) {
	for _, l := range s.loans {
		if l.owner != g.Owner && l.worker == g.Worker && l.floor < g.Ceiling && g.Floor < l.ceiling && s.broken == "" {
			s.broken = fmt.Sprintf("worker id %d: (%d, %d] of %x and (%d, %d] of %x", g.Worker, l.floor, l.ceiling, l.owner[:2], g.Floor, g.Ceiling, g.Owner[:2])
		}
	}
	s.loans = append(s.loans, &span{g.Owner, g.Worker, g.Floor, g.Ceiling})
}

// A scene is what a search plays.
type scene int

const (
	alike           scene = iota // members with the same times
	different                    // and others
	raisedAtRelease              // see raisedMeanwhile
	raisedAtOpen
	failedOver   // see failedOver
	atOnce       // calls that overlap, of members with the same times
	atOnceDiffer // and of others
	scenes
)

// differ reports whether members have different times.
func (p scene) differ() bool { return p != alike && p != failedOver && p != atOnce }

// searched plays one search, and returns what went wrong.
func searched(t *testing.T, seed int, p scene, changes map[*regexp.Regexp]string) (broken string, events []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := newSearch(seed, p, changes)
		require.NoError(t, err)
		switch p {
		case raisedAtRelease, raisedAtOpen:
			s.raisedMeanwhile(p == raisedAtOpen)
		case failedOver:
			s.failedOver()
		case atOnce, atOnceDiffer:
			s.overlapped().anyCalls()
		default:
			for range 60 {
				if s.step(s.outer); s.broken != "" {
					break
				}
			}
		}
		s.link.between = nil
		require.NoError(t, s.Close())
		broken, events = s.broken, s.events
	})
	return broken, events
}

// TestBetweenStatements checks that nothing that happens between two statements of a call lends times
// that were granted and forgotten.
func TestBetweenStatements(t *testing.T) {
	for shard := range 4 {
		t.Run(strconv.Itoa(shard), func(t *testing.T) {
			t.Parallel()
			n := 160
			if *count > 0 {
				n = *count
			}
			for seed := *first + shard; seed < *first+n; seed += 4 {
				broken, events := searched(t, seed, scene(seed)%scenes, nil)
				require.Empty(t, broken, "seed %d: %q", seed, events)
			}
		})
	}
}

// TestBetweenStatementsTeeth checks that the searches find each way to a duplicate that the statements
// of dbseq close.
func TestBetweenStatementsTeeth(t *testing.T) {
	const (
		counted  = `MAX\((\?\d+), \(CAST[^?]*\+ (\?\d+)\)`
		opened   = `(?s)THEN \(CAST[^?]*\+ (\?\d+) ELSE(.*?BETWEEN )(\?\d+)`
		raise    = `MAX\(quarantine_ms, \(CAST[^?]*\+ (\?\d+)\)`
		marks    = `CASE WHEN (\?\d+) > 0 THEN CAST[^?]*\+ \?\d+ ELSE 0 END`
		answered = `\(COALESCE\((\?\d+), ''\) = '' OR EXISTS \(SELECT 1 FROM \(SELECT \?\d+ AS incarnation\) AS seen WHERE incarnation = 'sqlite'\)\)`
		shown    = `s\.known = (\?\d+) AND s\.greatest = (\?\d+) AND s\.inuse = (\?\d+)`
	)
	for _, tooth := range []struct {
		name    string
		scene   scene
		from    int // the seed to begin with, which finds it
		changes map[string]string
	}{
		{"a quarantine counts from the look", alike, 66, map[string]string{opened: "THEN $3 + $1 ELSE$2$3", counted: "$1 + 0 * $2", raise: "quarantine_ms + 0 * $1", marks: "0 * $1"}},
		{"records are created as if never lent", alike, 1068, map[string]string{raise: "quarantine_ms + 0 * $1", marks: "0 * $1"}},
		{"another server writes what one answered", failedOver, 1, map[string]string{answered: "(1 = 1 OR $1 = '')"}},
		{"slots show more when a record is created", raisedAtOpen, 1, map[string]string{shown: "s.known + s.greatest + s.inuse >= 0 * ($1 + $2 + $3)"}},
	} {
		t.Run(tooth.name, func(t *testing.T) {
			t.Parallel()
			changes := map[*regexp.Regexp]string{}
			for pattern, by := range tooth.changes {
				changes[regexp.MustCompile(pattern)] = by
			}
			for seed := tooth.from; seed < tooth.from+600; seed++ {
				if broken, _ := searched(t, seed, tooth.scene, changes); broken != "" {
					t.Logf("seed %d: %s", seed, broken)
					return
				}
			}
			t.Fatal("not found")
		})
	}
}
