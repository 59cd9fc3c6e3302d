package leasetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// A flipper is a Store with Flip.
type flipper interface{ Flip(t testing.TB) }

// failing returns the promises that hold when the store forgets everything or becomes
// another incarnation.
func failing() []promise {
	return []promise{
		{says: "another incarnation is seen by every verb", alone: true, prove: reincarnated},
		{says: "the error names an incarnation that flips", alone: true, by: canFlip, prove: flips},
		{says: "after a wipe holders borrow again, above all earlier ranges", alone: true, prove: wiped},
		{says: "a holder learns that the namespace was opened anew by who allows for less", alone: true, prove: openedAnew},
		{says: "a late copy of a request extends no range", prove: lateCopy},
		{says: "after a failover holders continue above all earlier ranges", alone: true, by: looksAtIncarnation, prove: failedOver},
		{says: "a holder that missed its next range gets it again", alone: true, by: looksAtIncarnation, prove: unheard},
		{says: "a range below a quarantine is never extended", alone: true, by: looksAtIncarnation, prove: notExtended},
		{says: "after a failover a former owner cannot renew", alone: true, by: looksAtIncarnation, prove: revived},
		{says: "after a failover a stale lease is not lent before its end", alone: true, by: looksAtIncarnation, prove: staleRecord},
		{says: "ranges are disjoint whatever the store forgets", alone: true, prove: func(t *testing.T, b *bench) {
			s := b.open(t, 3, maxTTL(short), above)
			for range 2 {
				s.anything(t, 20)
				b.Wipe(t)
				s.anything(t, 20)
				s.lendAll()
			}
		}},
		{says: "ranges are disjoint whatever a failover brings back", alone: true, by: looksAtIncarnation, prove: func(t *testing.T, b *bench) {
			s := b.open(t, 3, maxTTL(short), above)
			for range 2 {
				s.anything(t, 15)
				restore := b.Snapshot(t)
				s.anything(t, 20)
				restore()
				b.Reincarnate(t)
				s.anything(t, 20)
				s.lendAll()
			}
		}},
	}
}

func reincarnated(t *testing.T, b *bench) {
	if !b.Traits().Incarnation {
		s := b.open(t, 2)
		g := s.acquire()
		b.Reincarnate(t)
		s.acquire() // the center trusts the store to be one durable server
		s.renew(g)
		return
	}
	type pair struct{ a, c lease.Grant }
	held := map[string]pair{}
	spaces := map[string]*space{}
	for _, verb := range []string{"renew", "acquire", "release"} {
		spaces[verb] = b.open(t, 3, above)
		held[verb] = pair{spaces[verb].acquire(), spaces[verb].acquire()}
	}
	b.Reincarnate(t)
	for verb, s := range spaces {
		s.seeLoss(verb, held[verb].a, held[verb].c)
	}
}

func flips(t *testing.T, b *bench) {
	flip := b.Store.(flipper).Flip
	s := b.open(t, 2, above)
	g := s.acquire()
	b.Reincarnate(t)
	first := s.requireQuarantine(exact)
	require.NotContains(t, first.Reason, "durable: true")
	s.Sleep(20 * time.Millisecond)
	flip(t)
	q := s.requireQuarantine(exact)
	require.Contains(t, q.Reason, "durable: true", "the error says what to do")
	require.Greater(t, q.Until, first.Until)
	s.goesOn(g, q)
}

func wiped(t *testing.T, b *bench) {
	s := b.open(t, 4, above)
	a, c := s.acquire(), s.acquire(ttl(50*time.Second))
	for range 2 {
		b.Wipe(t)
		_, err := s.tryRenew(a)
		require.ErrorIs(t, err, lease.ErrLost, "not on record")
		require.ErrorIs(t, s.tryRelease(c, c.Ceiling), lease.ErrLost, "not on record")
		q := s.requireQuarantine(exact)
		a, c = s.goesOn(a, q), s.goesOn(c, q)
	}
}

// lateCopy tests a request that arrives a second time after its lease has ended, and leases the
// worker id to its owner again. The owner still has the first grant. It must not extend that
// grant into ranges that were granted in between.
func lateCopy(t *testing.T, b *bench) {
	s := b.open(t, 1)
	req := s.request(ttl(short))
	first, err := s.ask(req)
	require.NoError(t, err)
	s.pass(first.Ceiling)
	between := s.acquire(ttl(short))
	s.pass(between.Ceiling)
	req.TTL = long
	copied, err := s.ask(req)
	require.NoError(t, err)
	renewed, err := s.tryRenew(first)
	require.NoError(t, err, "the second grant is for the same owner")
	require.Equal(t, []int64{copied.Token, copied.Floor}, []int64{renewed.Token, renewed.Floor})
	require.ErrorIs(t, s.tryRelease(first, first.Ceiling), lease.ErrLost)
	s.requireMark(0, copied.Ceiling, "the mark stays")
}

func failedOver(t *testing.T, b *bench) {
	s := b.open(t, 2, above)
	a, c := s.acquire(), s.acquire()
	for range 3 {
		restore := b.Snapshot(t)
		a = s.renew(a)
		restore()
		b.Reincarnate(t)
		q := s.requireQuarantine(exact)
		a, c = s.goesOn(a, q), s.goesOn(c, q)
		s.requireFull()
	}
	s.release(a, a.Floor)
	require.Equal(t, a.Floor, s.acquire(workers(a.Worker, a.Worker)).Floor)
}

// unheard tests a holder that misses the reply with its next range. The holder repeats the call
// with its old grant, even after another failover.
func unheard(t *testing.T, b *bench) {
	s := b.open(t, 1, above)
	g := s.acquire()
	restore := b.Snapshot(t)
	b.Reincarnate(t)
	next := s.goesOn(g, s.requireQuarantine(exact))
	again, err := s.tryRenew(g)
	require.NoError(t, err)
	require.Equal(t, []int64{next.Token, next.Floor}, []int64{again.Token, again.Floor})
	require.GreaterOrEqual(t, again.Ceiling, next.Ceiling)
	require.ErrorIs(t, s.tryRelease(g, g.Ceiling), lease.ErrLost, "a holder cannot give back a range that it does not know")
	s.requireMark(0, again.Ceiling, "the mark stays")

	restore()
	b.Reincarnate(t)
	s.renew(s.goesOn(next, s.requireQuarantine(exact)))
}

func notExtended(t *testing.T, b *bench) {
	s := b.open(t, 1, above)
	g := s.acquire()
	b.Reincarnate(t)
	q := s.requireQuarantine(exact)
	next, err := s.tryRenew(g)
	for ; s.waits(err); next, err = s.tryRenew(g) {
		s.requireMark(0, g.Ceiling, "nothing was written")
	}
	require.NoError(t, err)
	require.Greater(t, next.Now+next.MaxLead.Milliseconds(), s.horizon(q), "lent too early")
	require.GreaterOrEqual(t, next.Floor, s.horizon(q))

	waiting := b.open(t, 1)
	held := waiting.acquire()
	b.Reincarnate(t)
	_, err = waiting.tryRenew(held)
	_ = waiting.isQuarantine(err)
}

func revived(t *testing.T, b *bench) {
	s := b.open(t, 1, above)
	former := s.acquire(ttl(short))
	restore := b.Snapshot(t)
	s.pass(former.Ceiling)
	g := s.acquire()
	restore()
	b.Reincarnate(t)
	_, err := s.tryRenew(former)
	require.ErrorIs(t, err, lease.ErrLost, "on record again, but expired")
	s.goesOn(g, s.requireQuarantine(exact))
	_, err = s.tryRenew(former)
	require.ErrorIs(t, err, lease.ErrLost)
}

func staleRecord(t *testing.T, b *bench) {
	s := b.open(t, 1, above)
	former := s.acquire(ttl(3 * short))
	restore := b.Snapshot(t)
	s.release(former, former.Floor)
	g := s.acquire()
	restore()
	b.Reincarnate(t)
	_, err := s.tryRenew(g)
	require.ErrorIs(t, err, lease.ErrLost, "the former owner holds it according to the record, which may be right")
	q := s.requireQuarantine(exact)
	next, err := s.tryAcquire()
	for ; err != nil; next, err = s.tryAcquire() {
		requireKnown(t, err)
		s.Sleep(waitOf(err) + 2*time.Millisecond)
	}
	require.Greater(t, next.Now, former.Ceiling, "lent only after the stale lease")
	require.GreaterOrEqual(t, next.Floor, s.horizon(q))
}

// openedAnew tests that a holder whose grant a quarantine need not cover gets an error that says
// so: it must not use up its grant, unlike after lease.ErrLost.
func openedAnew(t *testing.T, b *bench) {
	for name, times := range map[string]func(int) change{
		"MaxTTL": func(n int) change { return maxTTL(time.Duration(n) * long) },
		"skew":   func(n int) change { return func(r *lease.Request) { r.Skew = time.Duration(n) * skew } },
	} {
		s := b.open(t, 2, times(2))
		g := s.acquire()
		s.stopped(g, g.Ceiling)
		b.Wipe(t)
		s.requireQuarantine(exact, times(1))
		_, err := s.center().Renew(t.Context(), g)
		require.ErrorAs(t, err, new(*lease.MismatchError), name)
	}
}
