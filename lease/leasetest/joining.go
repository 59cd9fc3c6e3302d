package leasetest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// joining returns the promises about requests, namespaces and lists.
func joining() []promise {
	return []promise{
		{says: "members that differ are refused", prove: mismatched},
		{says: "a smaller pool is refused and takes no worker id away", prove: func(t *testing.T, b *bench) {
			s := b.open(t, 4)
			var grants []lease.Grant
			for range 4 {
				grants = append(grants, s.acquire())
			}
			_, err := s.tryAcquire(func(r *lease.Request) { r.Pool, r.Last = 2, 1 })
			var mismatch *lease.MismatchError
			require.ErrorAs(t, err, &mismatch)
			for _, g := range grants {
				s.renew(g)
			}
			s.requireFull()
		}},
		{says: "a member with greater times stops nobody and is lent them when a loss allows for them", alone: true, prove: raised},
		{says: "a raise is used though nobody renews", alone: true, prove: raisedBorrowing},
		{says: "what the namespace allows for falls when nobody needs it", alone: true, prove: fallen},
		{says: "a late call does not decide a change that began again", alone: true, prove: beganAgain},
		{says: "a loss counts by what a pin is about to fall from", alone: true, by: looksAtIncarnation, prove: lostBeforeAFall},
		{says: "a client whose clock is far off is refused before anything is written", prove: clockFarOff},
		{says: "a call fails when its context has ended", prove: contextEnded},
		{says: "invalid requests are refused before anything is written", prove: invalid},
		{says: "requests at their limits are granted", prove: atTheLimits},
		{says: "namespaces are independent", prove: apart},
		{says: "an unknown namespace starts in quarantine", prove: neverOpened},
		{says: "Init opens a new namespace at once and refuses others", by: inits, prove: initOnce},
		{says: "Slots lists the worker ids of a namespace", by: lists, prove: shown},
		{says: "a center names its store", prove: func(t *testing.T, b *bench) {
			require.NotEmpty(t, strings.TrimSpace(lease.Name(b.centers[0])))
		}},
	}
}

func mismatched(t *testing.T, b *bench) {
	s := b.open(t, 4)
	g := s.acquire()
	for name, differ := range map[string]change{
		"layout":       func(r *lease.Request) { r.Layout = "41/10/0/12@0/1ms" },
		"larger pool":  func(r *lease.Request) { r.Pool = 8 },
		"smaller pool": func(r *lease.Request) { r.Pool, r.Last = 2, 1 },
	} {
		req := s.request(differ)
		_, err := s.ask(req)
		var mismatch *lease.MismatchError
		require.ErrorAs(t, err, &mismatch, name)
		mismatch.Change = ""
		require.Equal(t, lease.MismatchError{Namespace: s.base.Namespace, Stored: s.base.Pin(), Asked: req.Pin()}, *mismatch, name)
	}
	s.renew(g)
	for range 3 {
		s.acquire()
	}
	s.requireFull()
}

// brief is how long leases last whose end a test waits for.
const brief = 3 * time.Second

// requirePin checks the recorded pin, if the center reports it.
func (s *space) requirePin(maxTTL, skew time.Duration, change lease.PinChange) {
	s.t.Helper()
	if op := s.center().Extras().Operator; op != nil {
		rec, err := op.Record(s.t.Context(), s.base.Namespace)
		require.NoError(s.t, err)
		want := s.base.Pin()
		want.MaxTTL, want.Skew, want.Change = maxTTL, skew, change
		if change.At == 0 {
			rec.Pin.Change.At = 0
		}
		require.Equal(s.t, want, rec.Pin)
	}
}

// requireTold checks the recorded pin in a grant, if the center reports it.
func requireTold(t testing.TB, g lease.Grant, maxTTL, skew time.Duration) {
	t.Helper()
	if g.Pinned != (lease.Pin{}) {
		require.Equal(t, []time.Duration{maxTTL, skew}, []time.Duration{g.Pinned.MaxTTL, g.Pinned.Skew})
	}
}

// keep renews a grant or, if the grant has expired in the meantime, borrows again.
func (s *space) keep(g lease.Grant) lease.Grant {
	s.t.Helper()
	renewed, err := s.tryRenew(g)
	if errors.Is(err, lease.ErrLost) {
		s.stopped(g, g.Ceiling)
		s.pass(g.Ceiling) // a renewal is refused from the skew before the ceiling onward
		return s.acquire(func(r *lease.Request) { *r = g.Request; r.Owner = lease.NewOwner() })
	}
	require.NoError(s.t, err)
	return renewed
}

// until renews grants until done returns true for the first one.
func (s *space) until(done func(lease.Grant) bool, grants ...lease.Grant) []lease.Grant {
	s.t.Helper()
	for range 100 {
		for i, g := range grants {
			grants[i] = s.keep(g)
		}
		if done(grants[0]) {
			return grants
		}
		s.Sleep(brief / 20)
	}
	require.FailNow(s.t, "not within a hundred renewals")
	return nil
}

func greater(r *lease.Request) { r.TTL, r.MaxTTL, r.Skew = long, 2*long, 20*time.Second }

// raised tests that a member with greater times joins, and that nobody is refused or loses a
// lease because of that. Its grants must not be longer than before until a loss of some records
// or a lagging replica allows for them.
func raised(t *testing.T, b *bench) {
	s := b.open(t, 4, maxTTL(brief))
	former := s.acquire()
	began := former.Now
	next := s.acquire(greater)
	require.LessOrEqual(t, next.Ceiling, next.Now+brief.Milliseconds(), "longer than the former members allow for")
	s.requirePin(2*long, 20*time.Second, lease.PinChange{MaxTTL: brief, Skew: skew})
	requireTold(t, next, 2*long, 20*time.Second)
	held := s.until(func(g lease.Grant) bool { return g.Ceiling > g.Now+brief.Milliseconds() }, next, former, s.acquire())
	require.Equal(t, held[0].Now+long.Milliseconds(), held[0].Ceiling)
	require.Greater(t, held[0].Now, began+brief.Milliseconds(), "lent too early")
	bridges := held[1].Ceiling - held[1].Now
	require.LessOrEqual(t, bridges, (brief + 20*time.Second - skew).Milliseconds(), "the TTL of each is its own, and what it lacks of the skew")
	held[0] = s.renew(held[0]) // ends a fall, which begins when another has borrowed again on a slow machine
	s.requirePin(2*long, 20*time.Second, lease.PinChange{})
	b.Drop(t, s.base.Namespace, Meta)
	require.Greater(t, s.horizon(s.requireQuarantine()), held[0].Ceiling, "what is left of the records allows for the greater times")
	require.Greater(t, bridges, s.requireQuarantine(above).Wait().Milliseconds(), "the loss stops a member with a lesser skew")

	s = b.open(t, 2)
	g := s.acquire(ttl(15 * time.Second))
	s.acquire(greater)
	s.renew(g) // which has less left than the skew of the other
}

// raisedBorrowing tests that a loss keeps borrowers waiting for a raise only until it is used.
func raisedBorrowing(t *testing.T, b *bench) {
	s := b.open(t, 4, maxTTL(brief/3), above)
	began := s.acquire().Now
	s.acquire(func(r *lease.Request) { r.MaxTTL = 20 * long })
	b.Drop(t, s.base.Namespace, OneMark)
	q := s.requireQuarantine(exact)
	s.borrows()
	require.Greater(t, s.now.Load(), began+(brief/3).Milliseconds(), "used too early")
	require.Less(t, s.now.Load(), began+(10*long).Milliseconds(), "used too late")
	require.GreaterOrEqual(t, s.horizon(q), began+(20*long).Milliseconds())
}

// fallen tests that the times that the namespace allows for fall when no member needs the greater
// ones any more.
func fallen(t *testing.T, b *bench) {
	s := b.open(t, 5, maxTTL(brief))
	less := maxTTL(brief / 2)
	former, paused := s.acquire(), s.acquire()
	g := s.acquire(less)
	falls := lease.PinChange{Falls: true, MaxTTL: brief / 2, Skew: skew}
	s.requirePin(brief, skew, falls)
	g = s.keep(g)
	s.requirePin(brief, skew, falls)
	former = s.keep(former)
	s.requirePin(brief, skew, lease.PinChange{}) // it still needs more
	s.release(former, former.Floor)

	last := s.acquire(less)
	began := last.Now
	s.until(func(g lease.Grant) bool {
		require.LessOrEqual(t, g.Ceiling, g.Now+(brief/2).Milliseconds())
		if s.now.Load() < began+(brief+skew).Milliseconds() { // also the clock of the other one's renewal
			s.requirePin(brief, skew, falls)
			requireTold(t, g, brief, skew)
		}
		return g.Pinned.MaxTTL == brief/2 || g.Pinned == lease.Pin{} && g.Now > began+2*brief.Milliseconds()
	}, g, last)
	s.requirePin(brief/2, skew, lease.PinChange{})
	requireKnown(t, s.tryRelease(paused, paused.Floor)) // whose lease has ended
	require.LessOrEqual(t, s.acquire().Ceiling, s.now.Load()+(brief/2).Milliseconds(), "it raises the namespace again, and has to wait")
	s.requirePin(brief, skew, lease.PinChange{MaxTTL: brief / 2, Skew: skew})

	b.Drop(t, s.base.Namespace, Meta)
	began = s.requireQuarantine(above).Now.UnixMilli()
	require.GreaterOrEqual(t, s.borrows(above).Now, began+(brief/2+skew).Milliseconds(), "a replica may not allow for the greater times")
}

// beganAgain tests a member that proposes a lower pin and pauses. In the meantime, another member
// keeps the pin, and a third proposes the same lower pin again, for which less time has passed.
func beganAgain(t *testing.T, b *bench) {
	s := b.open(t, 4, maxTTL(brief))
	former := s.acquire()
	paused := s.acquire(maxTTL(brief / 2))
	former = s.keep(former)
	for range 10 {
		s.Sleep(brief / 8)
		former = s.keep(former)
	}
	last := s.acquire(maxTTL(brief / 2))
	if _, err := s.tryRenew(paused); err != nil {
		requireKnown(t, err)
	}
	for range 2 {
		last = s.keep(last)
		if last.Now < former.Now+brief.Milliseconds() {
			s.requirePin(brief, skew, lease.PinChange{Falls: true, MaxTTL: brief / 2, Skew: skew})
			requireTold(t, last, brief, skew)
		}
	}
}

// lostBeforeAFall tests a loss that is detected by the renewal that would let the pin fall, at
// that time and after another renewal.
func lostBeforeAFall(t *testing.T, b *bench) {
	tested := false
	for i := range 10 {
		if tested && i%2 == 0 {
			return
		}
		s := b.open(t, 4, maxTTL(brief))
		g := s.acquire(maxTTL(brief / 2))
		if g.Pinned == (lease.Pin{}) {
			return // the center does not report when
		}
		for g.Pinned.Change.At <= 0 || g.Now < g.Pinned.Change.At-(brief/10).Milliseconds() {
			s.Sleep(brief / 20)
			if g = s.keep(g); g.Pinned.MaxTTL < brief {
				break
			}
		}
		if g.Pinned.MaxTTL < brief { // this machine was too slow
			continue
		}
		s.Sleep(brief / 5)
		if i%2 == 1 {
			if g = s.keep(g); g.Pinned.MaxTTL < brief {
				return // it has fallen
			}
		}
		b.Reincarnate(t)
		_, err := s.tryRenew(g)
		requireKnown(t, err)
		q := s.requireQuarantine(maxTTL(brief / 2))
		require.GreaterOrEqual(t, s.horizon(q), g.Now+(brief+skew).Milliseconds())
		tested = true
	}
	require.True(t, tested, "no renewal in time")
}

func clockFarOff(t *testing.T, b *bench) {
	b.open(t, 1).acquire()
	s := b.space(t, 2)
	other := b.open(t, 1)
	now := other.acquire().Now
	far := (lease.MaxClockError + time.Minute).Milliseconds()
	refused := func() {
		t.Helper()
		for _, off := range []int64{far, -far} {
			req := s.request(local(now + off))
			_, err := s.ask(req)
			var clock *lease.ClockError
			require.ErrorAs(t, err, &clock)
			require.Equal(t, s.base.Namespace, clock.Namespace)
			require.Equal(t, req.CallerTime, clock.Local.UnixMilli())
			require.InDelta(t, now, clock.Center.UnixMilli(), float64(time.Minute.Milliseconds()))
		}
	}
	refused()
	s.open() // the store has no record yet
	refused()
	first := s.acquire(local(now))
	refused()
	s.renew(first)
	s.acquire()
	s.requireFull()
}

func contextEnded(t *testing.T, b *bench) {
	s := b.open(t, 2)
	g := s.acquire()
	req := s.request()
	for want, ctx := range map[error]context.Context{context.Canceled: canceled(t), context.DeadlineExceeded: expired(t)} {
		_, err := s.center().Acquire(ctx, req)
		require.ErrorIs(t, err, want)
		_, err = s.center().Renew(ctx, g)
		require.ErrorIs(t, err, want)
		require.ErrorIs(t, s.center().Release(ctx, g, g.Floor), want)
		if lister := s.center().Extras().Lister; lister != nil {
			_, err = lister.Slots(ctx, s.base.Namespace)
			require.ErrorIs(t, err, want)
		}
		if init := s.center().Extras().Init; init != nil {
			require.ErrorIs(t, init(ctx, b.space(t, 1).request()), want)
		}
	}
	// The calls may have had an effect. Repeating them has the same result either way.
	again, err := s.ask(req)
	require.NoError(t, err)
	require.NotEqual(t, g.Worker, again.Worker)
	require.Less(t, again.Floor, again.Now)
	s.requireFull()
	if err := s.tryRelease(g, g.Floor); err != nil {
		require.ErrorIs(t, err, lease.ErrLost)
	}
	require.Equal(t, g.Worker, s.acquire().Worker)
}

func invalid(t *testing.T, b *bench) {
	s := b.space(t, 4)
	requests := map[string]change{
		"no namespace":         func(r *lease.Request) { r.Namespace = "" },
		"long namespace":       func(r *lease.Request) { r.Namespace = strings.Repeat("n", lease.MaxNamespace+1) },
		"space in namespace":   func(r *lease.Request) { r.Namespace += " " },
		"colon in namespace":   func(r *lease.Request) { r.Namespace += ":x" },
		"brace in namespace":   func(r *lease.Request) { r.Namespace += "}" },
		"umlaut in namespace":  func(r *lease.Request) { r.Namespace += "\u00e4" },
		"no layout":            func(r *lease.Request) { r.Layout = "" },
		"long layout":          func(r *lease.Request) { r.Layout = strings.Repeat("l", 129) },
		"long holder":          func(r *lease.Request) { r.Holder = strings.Repeat("h", lease.MaxHolder+1) },
		"no owner":             func(r *lease.Request) { r.Owner = [16]byte{} },
		"no pool":              func(r *lease.Request) { r.Pool = 0 },
		"negative pool":        func(r *lease.Request) { r.Pool = -1 },
		"huge pool":            func(r *lease.Request) { r.Pool = lease.MaxPool + 1 },
		"negative worker":      workers(-1, 3),
		"workers reversed":     workers(3, 2),
		"worker past the pool": workers(0, 4),
		"no TTL":               ttl(0),
		"short TTL":            ttl(lease.MinTTL - time.Millisecond),
		"TTL above MaxTTL":     ttl(long + time.Millisecond),
		"TTL of microseconds":  ttl(long - time.Microsecond),
		"long MaxTTL":          func(r *lease.Request) { r.MaxTTL = 24*time.Hour + time.Millisecond },
		"MaxTTL of nanosecond": func(r *lease.Request) { r.MaxTTL++ },
		"negative skew":        func(r *lease.Request) { r.Skew = -time.Millisecond },
		"skew above TTL/2":     func(r *lease.Request) { r.Skew = r.TTL/2 + time.Millisecond },
		"skew of microseconds": func(r *lease.Request) { r.Skew += time.Microsecond },
		"negative ahead":       func(r *lease.Request) { r.MaxLead = -time.Millisecond },
		"ahead above MaxTTL":   func(r *lease.Request) { r.MaxLead = r.MaxTTL + time.Millisecond },
		"ahead of nanoseconds": func(r *lease.Request) { r.MaxLead = 1 },
	}
	for _, name := range slices.Sorted(maps.Keys(requests)) { // the same request first in every run
		wrong := requests[name]
		_, err := s.tryAcquire(wrong)
		requireRefused(t, err, name)
		if init := s.center().Extras().Init; init != nil {
			requireRefused(t, init(t.Context(), s.request(wrong)), name)
		}
	}
	s.open() // the store has no record yet
	g := s.acquire()
	grants := map[string]func(*lease.Grant){
		"zero":                   func(g *lease.Grant) { *g = lease.Grant{} },
		"negative worker lent":   func(g *lease.Grant) { g.Worker = -1 },
		"worker lent is no slot": func(g *lease.Grant) { g.Worker = g.Pool },
	}
	for name, wrong := range requests {
		grants[name] = func(g *lease.Grant) { wrong(&g.Request) }
	}
	for name, wrong := range grants {
		bad := g
		wrong(&bad)
		_, err := s.center().Renew(t.Context(), bad)
		require.Error(t, err, name)
		require.Error(t, s.center().Release(t.Context(), bad, bad.Floor), name)
	}
	if lister := s.center().Extras().Lister; lister != nil {
		_, err := lister.Slots(t.Context(), "a b")
		require.Error(t, err)
	}
	s.renew(g)
}

// requireRefused requires an error about the request itself, not about records.
func requireRefused(t testing.TB, err error, name string) {
	t.Helper()
	var (
		quarantine *lease.QuarantineError
		mismatch   *lease.MismatchError
	)
	require.Error(t, err, name)
	require.False(t, errors.As(err, &quarantine) || errors.As(err, &mismatch) || errors.Is(err, lease.ErrExists), "%s: %v", name, err)
}

func atTheLimits(t *testing.T, b *bench) {
	for name, limit := range map[string]change{
		"longest": func(r *lease.Request) {
			r.Namespace = (r.Namespace + "_Az9.-" + strings.Repeat("n", lease.MaxNamespace))[:lease.MaxNamespace]
			r.Layout = strings.Repeat("l", 128)
			r.Holder = strings.Repeat("h", lease.MaxHolder)
			r.TTL, r.MaxTTL, r.Skew = 24*time.Hour, 24*time.Hour, 12*time.Hour
		},
		"shortest": func(r *lease.Request) {
			r.Layout, r.Holder = "l", ""
			r.Pool, r.Last = 1, 0
			r.Skew = 0
		},
		"odd": func(r *lease.Request) {
			r.Layout = `a|b:c {d} 'e' "f" \g %s ? $1 @h`
			r.Holder = "a|b:c {d} 'e' \"f\" \\g %s ? $1 @h\tGr\u00fc\u00dfe \U0001f980"
		},
	} {
		s := b.open(t, 64, limit)
		g := s.renew(s.acquire())
		slot, listed := s.slot(g.Worker)
		if listed && g.Holder != "" {
			require.Equal(t, g.Holder, slot.Holder, name)
		}
		s.release(g, g.Floor)
	}
}

func apart(t *testing.T, b *bench) {
	s := b.open(t, 2)
	held := []lease.Grant{s.acquire(), s.acquire()}
	for name, namespace := range map[string]string{
		"other case": strings.ToUpper(s.base.Namespace),
		"longer":     s.base.Namespace + ".x",
		"shorter":    s.base.Namespace[:len(s.base.Namespace)-1],
		"wildcard":   s.base.Namespace[:1] + "_" + s.base.Namespace[2:],
	} {
		other := b.open(t, 2, func(r *lease.Request) { r.Namespace, r.Layout = namespace, name })
		g := other.acquire()
		require.NotEqual(t, g.Worker, other.acquire().Worker)
		other.requireFull()

		forged := held[g.Worker]
		forged.Namespace, forged.Layout = namespace, name
		_, err := s.center().Renew(t.Context(), forged)
		require.ErrorIs(t, err, lease.ErrLost, "held in another namespace")
		require.ErrorIs(t, s.center().Release(t.Context(), forged, 0), lease.ErrLost)

		other.release(g, g.Floor)
		b.Drop(t, namespace, Meta)
		other.requireQuarantine()
	}
	s.requireFull()
	for _, g := range held {
		s.renew(g)
	}
	s.release(held[0], 0)
	s.acquire()
}

func neverOpened(t *testing.T, b *bench) {
	s := b.space(t, 2, maxTTL(short))
	s.calls.Store(0) // the first call goes to the center that did not create the store
	q := s.requireQuarantine()
	require.Equal(t, lease.NothingOnRecord, q.Reason)
	require.InDelta(t, q.Now.UnixMilli(), s.began(q), 1, "the quarantine starts now and lasts MaxTTL + skew")
	s.Sleep(20 * time.Millisecond)
	if later := (*lease.QuarantineError)(nil); errors.As(s.asked(), &later) {
		require.Equal(t, q.Until, later.Until, "asking again does not prolong the quarantine")
		require.Equal(t, later.Until.Sub(later.Now), later.Wait())
	}
	early := s.borrows(above)
	s.requireRange(early)
	require.GreaterOrEqual(t, early.Floor, s.horizon(q))
	s.release(early, early.Floor)
	s.lentAfter(q)
}

// lentAfter polls until the quarantine ends, and checks the first grant after it.
func (s *space) lentAfter(q *lease.QuarantineError) {
	s.t.Helper()
	g, err := s.tryAcquire(ttl(s.base.MaxTTL))
	for ; err != nil; g, err = s.tryAcquire(ttl(s.base.MaxTTL)) {
		still := s.isQuarantine(err)
		require.Equal(s.t, q.Until, still.Until)
		require.LessOrEqual(s.t, still.Now, q.Until, "the quarantine has ended")
		s.Sleep(25 * time.Millisecond)
	}
	require.GreaterOrEqual(s.t, g.Now, q.Until.UnixMilli(), "lent after the quarantine")
	require.GreaterOrEqual(s.t, g.Floor, q.Until.UnixMilli()-1, "the floor is not above the lost ranges")
}

func initOnce(t *testing.T, b *bench) {
	init := b.centers[1].Extras().Init
	exists := func(s *space, changes ...change) {
		t.Helper()
		require.ErrorIs(t, init(t.Context(), s.request(changes...)), lease.ErrExists)
	}
	s := b.space(t, 2)
	require.NoError(t, init(t.Context(), s.request()))
	exists(s)
	g := s.acquire()
	exists(s)
	exists(s, func(r *lease.Request) { r.Layout = "other" })
	g = s.renew(g)
	s.requireMark(g.Worker, g.Ceiling, "nothing has changed")
	b.Drop(t, s.base.Namespace, Meta)
	exists(s)
	s.requireQuarantine()
	exists(s)

	s = b.space(t, 2)
	s.calls.Store(0)
	q := s.requireQuarantine()
	exists(s)
	require.Equal(t, q.Until, s.requireQuarantine().Until, "Init does not shorten a quarantine")
}

func shown(t *testing.T, b *bench) {
	lister := b.centers[1].Extras().Lister
	nothing := b.space(t, 2)
	if slots, err := lister.Slots(t.Context(), nothing.base.Namespace); err == nil {
		require.Empty(t, slots)
	}
	nothing.open() // Slots has created nothing

	s := b.open(t, 3)
	list := func() []lease.Slot {
		t.Helper()
		slots, err := lister.Slots(t.Context(), s.base.Namespace)
		require.NoError(t, err)
		require.Len(t, slots, 3)
		for w, slot := range slots {
			require.Equal(t, int64(w), slot.Worker, "ordered by worker id")
			require.GreaterOrEqual(t, slot.Now, s.now.Load())
		}
		return slots
	}
	for _, slot := range list() {
		require.Empty(t, slot.Holder, "never lent")
		require.Zero(t, slot.Since)
		require.True(t, slot.Free())
	}
	held := func(g lease.Grant) {
		t.Helper()
		slot := list()[g.Worker]
		require.Equal(t, lease.Slot{
			Worker: g.Worker, Token: g.Token, Holder: g.Holder, Since: g.Since,
			Expires: g.Ceiling, HighWater: g.Ceiling, Now: slot.Now,
		}, slot)
		require.False(t, slot.Free())
	}
	first := s.acquire(func(r *lease.Request) { r.Holder = "shop@host/1" })
	second := s.acquire(func(r *lease.Request) { r.Holder = "shop@host/2" })
	held(first)
	held(second)
	s.Sleep(20 * time.Millisecond)
	first = s.renew(first)
	held(first)

	s.release(first, first.Floor+1)
	s.pass(first.Now)
	slot := list()[first.Worker]
	require.Empty(t, slot.Holder, "given back")
	require.Zero(t, slot.Since)
	require.Equal(t, first.Floor+1, slot.HighWater)
	require.True(t, slot.Free())
	held(second)
}
