package leasetest

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// pinLost tests that the slots that are left show the layout and the pool.
func pinLost(t *testing.T, b *bench) {
	s := b.open(t, 2, above)
	g, last := s.acquire(), s.acquire()
	if g.Worker > last.Worker {
		g, last = last, g
	}
	refuses := func() {
		t.Helper()
		for _, other := range []change{
			func(r *lease.Request) { r.Layout += " of others" },
			func(r *lease.Request) { r.Pool, r.First, r.Last = 1, 0, 0 },
			func(r *lease.Request) { r.Pool = 3 },
		} {
			_, err := s.tryAcquire(other)
			require.ErrorAs(t, err, new(*lease.MismatchError))
		}
	}
	b.Drop(t, s.base.Namespace, Meta)
	refuses()
	q := s.requireQuarantine(exact)
	s.goesOn(g, q)
	last = s.goesOn(last, q)
	b.Drop(t, s.base.Namespace, Meta)
	b.Drop(t, s.base.Namespace, OneSlot)
	refuses() // although only the last worker id is left, beyond the smaller pool
	s.goesOn(last, s.requireQuarantine(exact))
}

// lostTwice tests that what a loss leaves of worker ids shows the pin too, for the next loss.
func lostTwice(t *testing.T, b *bench) {
	s := b.open(t, 1, above)
	s.acquire()
	b.Drop(t, s.base.Namespace, OneSlot)
	s.requireQuarantine(exact)
	b.Drop(t, s.base.Namespace, Meta)
	_, err := s.tryAcquire(func(r *lease.Request) { r.Layout += " of others" })
	require.ErrorAs(t, err, new(*lease.MismatchError))
}

// losing returns the promises that hold when a namespace loses some of its records.
func losing() []promise {
	var promises []promise
	for what, name := range map[Records]string{OneSlot: "a slot", OneMark: "a mark", Meta: "the record of the namespace"} {
		for _, verb := range []string{"renew", "acquire", "release"} {
			promises = append(promises, promise{
				says: "the loss of " + name + " is seen by " + verb,
				prove: func(t *testing.T, b *bench) {
					s := b.open(t, 2, above)
					if what != Meta && verb == "renew" && b.Traits().RenewsAlone {
						verb = "renew both"
					}
					a, c := s.acquire(), s.acquire()
					b.Drop(t, s.base.Namespace, what)
					s.seeLoss(verb, a, c)
				},
			})
		}
	}
	return append(promises,
		promise{says: "the loss of holders lends nothing twice", prove: ownersLost},
		promise{says: "the loss of the record of the namespace lets in no other layout or pool", prove: pinLost},
		promise{says: "what was lost shows the pin when it is created again", prove: lostTwice},
		promise{says: "the loss of one record leaves the others", by: lists, prove: func(t *testing.T, b *bench) {
			for _, what := range []Records{OneSlot, OneMark} {
				oneRecordLost(t, b, what)
			}
		}},
		promise{says: "a quarantine covers the longest lease", prove: longestLease},
		promise{says: "a quarantine covers members with a greater MaxTTL and skew", prove: longestMember},
		promise{says: "exact times are lent after a quarantine", prove: quarantineEnds},
		promise{says: "grants during a quarantine start above it", prove: lentAbove},
		promise{says: "a range ahead of the clock grows until the clock has caught up", prove: grows},
		promise{says: "a second loss prolongs the quarantine", prove: func(t *testing.T, b *bench) {
			s := b.open(t, 2, above)
			g := s.acquire()
			b.Drop(t, s.base.Namespace, OneMark)
			first := s.requireQuarantine(exact)
			g = s.goesOn(g, first)
			b.Drop(t, s.base.Namespace, OneMark)
			second := s.requireQuarantine(exact)
			require.Greater(t, second.Until, first.Until)
			require.GreaterOrEqual(t, s.horizon(second), g.Ceiling+s.base.Skew.Milliseconds(), "the second quarantine covers what was lent above the first")
			s.goesOn(g, second)
		}},
		promise{says: "ranges are disjoint whatever records are lost", prove: func(t *testing.T, b *bench) {
			s := b.open(t, 3, maxTTL(short), above)
			for _, what := range []Records{OneMark, OneSlot, Meta, Owners} {
				s.anything(t, 15)
				b.Drop(t, s.base.Namespace, what)
				s.anything(t, 15)
				s.lendAll()
			}
		}},
	)
}

// seeLoss tests that the first call of verb after a loss starts the quarantine, and that holders
// continue.
func (s *space) seeLoss(verb string, a, c lease.Grant) {
	t := s.t
	released := false
	switch verb {
	case "renew both":
		if _, err := s.tryRenew(c); err != nil {
			requireKnown(t, err)
		}
		fallthrough
	case "renew":
		if _, err := s.tryRenew(a); err != nil {
			requireKnown(t, err)
		}
	case "acquire":
		s.requireQuarantine(exact)
	case "release":
		released = true
		if err := s.tryRelease(c, c.Floor); err != nil {
			require.ErrorIs(t, err, lease.ErrLost, "its record was lost")
		}
	}
	const pause = 100 * time.Millisecond
	s.Sleep(pause)
	q := s.requireQuarantine(exact)
	require.LessOrEqual(t, s.began(q), q.Now.Add(10*time.Millisecond-pause).UnixMilli(), "%s did not notice the loss", verb)
	a = s.renew(s.goesOn(a, q))
	if !released {
		s.renew(s.goesOn(c, q))
	}
	require.Equal(t, q.Until, s.requireQuarantine(exact).Until, "the records are complete again")
	require.NoError(t, s.tryRelease(a, a.Floor), "a holder can give back during a quarantine")
	require.Equal(t, q.Until, s.requireQuarantine(exact).Until)
}

func ownersLost(t *testing.T, b *bench) {
	s := b.open(t, 2)
	a, c := s.acquire(), s.acquire()
	b.Drop(t, s.base.Namespace, Owners)
	refused := func() {
		t.Helper()
		_, err := s.tryAcquire()
		require.Error(t, err, "both worker ids are in use")
		requireKnown(t, err)
	}
	refused()
	if _, err := s.tryRenew(a); err != nil {
		requireKnown(t, err)
	}
	refused()
	if _, err := s.tryRenew(c); err != nil {
		requireKnown(t, err)
	}
	refused()
}

func oneRecordLost(t *testing.T, b *bench, what Records) {
	lister, s := b.centers[0].Extras().Lister, b.open(t, 4)
	list := func() []lease.Slot {
		slots, err := lister.Slots(t.Context(), s.base.Namespace)
		require.NoError(t, err)
		for i := range slots {
			slots[i].Now = 0
		}
		return slots
	}
	for range 4 {
		s.acquire()
	}
	before := list()
	b.Drop(t, s.base.Namespace, what)
	s.requireQuarantine()
	changed := 0
	for w, slot := range list() {
		if slot != before[w] {
			changed++
		}
	}
	require.Equal(t, 1, changed)
}

func longestLease(t *testing.T, b *bench) {
	s := b.open(t, 2)
	g := s.acquire(ttl(s.base.MaxTTL))
	b.Drop(t, s.base.Namespace, Meta)
	b.Drop(t, s.base.Namespace, OneMark)
	q := s.requireQuarantine(ttl(short))
	require.InDelta(t, q.Now.UnixMilli(), s.began(q), 1, "the quarantine lasts MaxTTL + skew, whatever the TTL of the request")
	require.GreaterOrEqual(t, s.horizon(q), g.Ceiling+s.base.Skew.Milliseconds())
}

// longestMember tests that a member that detects a loss allows for the times of other members.
func longestMember(t *testing.T, b *bench) {
	s := b.open(t, 3)
	a := s.acquire()
	g := s.acquire(func(r *lease.Request) { r.MaxTTL, r.Skew = 2*long, 2*skew })
	a.Pinned = g.Pinned
	b.Drop(t, s.base.Namespace, OneMark)
	q := s.requireQuarantine()
	hold := (2*long + 2*skew).Milliseconds()
	require.GreaterOrEqual(t, s.horizon(q), g.Now+hold)
	require.LessOrEqual(t, s.horizon(q), q.Now.UnixMilli()+hold)
	if _, err := s.tryRenew(a); err != nil {
		requireKnown(t, err)
	}
	later := s.requireQuarantine(exact, func(r *lease.Request) { r.MaxTTL, r.Skew = 3*long, 3*skew })
	require.Equal(t, q.Until, later.Until, "who joins during a quarantine does not prolong it")
}

func quarantineEnds(t *testing.T, b *bench) {
	for _, what := range []Records{OneSlot, OneMark, Meta} {
		s := b.open(t, 2, maxTTL(short))
		s.acquire()
		g := s.acquire()
		b.Drop(t, s.base.Namespace, what)
		q := s.requireQuarantine()
		if _, err := s.tryRenew(g); err != nil {
			requireKnown(t, err)
		}
		s.lentAfter(q)
		s.lendAll()
	}
}

// lentAbove tests that nothing is leased during the skew, and that grants then start above the
// quarantine.
func lentAbove(t *testing.T, b *bench) {
	for _, what := range []Records{OneSlot, OneMark, Meta} {
		s := b.open(t, 3, above)
		s.acquire()
		s.acquire(ttl(short))
		s.Sleep(short + 5*time.Millisecond)
		b.Drop(t, s.base.Namespace, what)
		_, err := s.tryAcquire()
		early := s.isQuarantine(err)
		q := s.requireQuarantine(exact)
		require.Equal(t, s.horizon(q)-s.base.MaxLead.Milliseconds()+1, early.Until.UnixMilli(), "the error says when worker ids are lent again")
		for range 2 {
			next := s.borrows()
			require.Greater(t, next.Now+next.MaxLead.Milliseconds(), s.horizon(q), "lent too early")
			s.requireRange(next)
			require.Equal(t, s.horizon(q), next.Floor)
			// A worker id that is released immediately is leased again above its last use.
			s.release(next, next.Floor+1)
			s.Sleep(2 * time.Millisecond) // its mark may be as far ahead as a borrow reaches
			again := s.borrows(workers(next.Worker, next.Worker))
			s.requireRange(again)
			require.Equal(t, next.Floor+1, again.Floor)
			s.release(again, again.Ceiling)
		}
	}
}

// grows tests renewals of a range ahead of the clock. They raise its ceiling to MaxTTL above
// now, but to at most TTL above its floor.
func grows(t *testing.T, b *bench) {
	s := b.open(t, 1, maxTTL(time.Minute), ttl(20*time.Second), above)
	b.Drop(t, s.base.Namespace, OneMark)
	_ = s.requireQuarantine()
	g := s.borrows()
	for range 3 {
		s.Sleep(15 * time.Millisecond)
		renewed := s.renew(g)
		require.Equal(t, renewed.Now+g.MaxTTL.Milliseconds(), renewed.Ceiling)
		g = renewed
	}
}

// lendAll waits for every worker id to be free and borrows it for the longest time. The
// ledger then finds overlaps with ranges that may still be in use.
func (s *space) lendAll() {
	s.t.Helper()
	for w := range s.base.Pool {
		g, err := s.tryAcquire(workers(w, w), ttl(s.base.MaxTTL))
		for range 20 {
			if err == nil {
				s.holders = append(s.holders, g)
				break
			}
			requireKnown(s.t, err)
			s.Sleep(waitOf(err) + 2*time.Millisecond)
			g, err = s.tryAcquire(workers(w, w), ttl(s.base.MaxTTL))
		}
		require.NoError(s.t, err, "worker %d did not become free", w)
	}
}

// waitOf returns how long to wait according to the center's error.
func waitOf(err error) time.Duration {
	var (
		full       *lease.NoFreeWorkerError
		quarantine *lease.QuarantineError
	)
	switch {
	case errors.As(err, &full):
		return full.Wait()
	case errors.As(err, &quarantine):
		return quarantine.Wait()
	}
	return 0
}
