package leasetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/idworker/lease"
)

// A Flipper is a Store that can become its former incarnation again, as a proxy in
// front of several servers does. Stores that cannot need not be one.
type Flipper interface {
	// Flip undoes the last Reincarnate, with the records as they are.
	Flip(t testing.TB)
}

// failing is what holds when the whole store forgets, or is another.
func failing() []promise {
	return []promise{
		{says: "another incarnation is seen by every verb", alone: true, prove: reincarnated},
		{says: "an incarnation that flips is named", alone: true, by: canFlip, prove: flips},
		{says: "after a wipe live holders re-take their worker ids", alone: true, prove: wiped},
		{says: "a late copy of a borrow is no re-take", prove: lateCopy},
		{says: "after a wipe a worker id is re-taken once", alone: true, prove: retakenOnce},
		{says: "after a failover a former owner cannot renew", alone: true, by: looksAtIncarnation, prove: revived},
		{says: "after a failover a stale record that runs is waited for", alone: true, by: looksAtIncarnation, prove: staleRecord},
		{says: "whatever the store forgets, ranges are disjoint", alone: true, prove: func(t *testing.T, b *bench) {
			s := b.open(t, 3, maxTTL(short))
			for range 3 {
				s.anything(t, 20)
				b.Wipe(t)
				s.anything(t, 20)
				s.lendAll()
			}
		}},
		{says: "whatever a failover brings back, ranges are disjoint", alone: true, by: looksAtIncarnation, prove: func(t *testing.T, b *bench) {
			s := b.open(t, 3, maxTTL(short))
			for range 3 {
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
		s.acquire() // the store is one durable server
		s.renew(g)
		return
	}
	type pair struct{ a, c lease.Grant }
	held := map[string]pair{}
	spaces := map[string]*space{}
	for _, verb := range []string{"renew", "acquire", "release"} {
		spaces[verb] = b.open(t, 3)
		held[verb] = pair{spaces[verb].acquire(), spaces[verb].acquire()}
	}
	b.Reincarnate(t)
	for verb, s := range spaces {
		s.seeLoss(verb, held[verb].a, held[verb].c)
	}
}

func flips(t *testing.T, b *bench) {
	flipper := b.Store.(Flipper)
	s := b.open(t, 2)
	g := s.acquire()
	b.Reincarnate(t)
	first := s.requireQuarantine()
	require.NotContains(t, first.Reason, "quarantine: never")
	s.Sleep(20 * time.Millisecond)
	flipper.Flip(t)
	g = s.renew(g)
	q := s.requireQuarantine()
	require.Contains(t, q.Reason, "quarantine: never", "the error names the way out")
	require.Greater(t, q.Until, first.Until)
	s.renew(g)
}

func wiped(t *testing.T, b *bench) {
	s := b.open(t, 4)
	a, c, passed := s.acquire(), s.acquire(ttl(50*time.Second)), s.acquire(ttl(short))
	s.pass(passed.Ceiling)
	b.Wipe(t)

	retake := func(g lease.Grant) lease.Grant {
		t.Helper()
		taken := s.renew(g) // with the floor it had
		require.Greater(t, taken.Token, g.Token, "a re-take is a grant of its own")
		s.requireMark(g.Worker, taken.Ceiling, "the holder's range is on record again")
		taken = s.renew(g)
		require.Greater(t, taken.Token, g.Token, "the reply was lost, and the holder asks again with what it has")
		s.requireMark(g.Worker, taken.Ceiling, "the holder's range is on record again")
		if slot, ok := s.slot(g.Worker); ok {
			require.Equal(t, []any{g.Holder, g.Since, taken.Token}, []any{slot.Holder, slot.Since, slot.Token})
		}
		again := s.renew(taken)
		require.Equal(t, taken.Token, again.Token, "on record now")
		return again
	}
	a = retake(a) // it is the first to see the loss
	q := s.requireQuarantine()
	require.GreaterOrEqual(t, q.Until.UnixMilli(), c.Ceiling, "nothing is lent while a range that is not on record may be in use")
	_, err := s.tryRenew(passed)
	require.ErrorIs(t, err, lease.ErrLost, "its range has passed")
	c = retake(renewFor(c, 40*time.Second))
	require.ErrorIs(t, s.tryRelease(passed, passed.Ceiling), lease.ErrLost)

	s.release(a, a.Now)
	s.requireQuarantine()
	_, err = s.tryRenew(renewFor(c, 45*time.Second))
	require.NoError(t, err)

	b.Wipe(t)
	require.ErrorIs(t, s.tryRelease(c, c.Ceiling), lease.ErrLost, "not on record, so not to be marked")
	s.requireQuarantine()
}

// A request that arrives once more after its lease is over lends its owner the worker
// id anew. With the grant of the first, the owner must not come to what lies between.
func lateCopy(t *testing.T, b *bench) {
	s := b.open(t, 1)
	req := s.request(ttl(short))
	first, err := s.ask(req)
	require.NoError(t, err)
	s.pass(first.Ceiling)
	between := s.acquire(ttl(short))
	s.pass(between.Ceiling)
	copied := req
	copied.TTL = 30 * time.Second
	_, err = s.center().Acquire(t.Context(), copied)
	require.NoError(t, err)
	b.Drop(t, s.base.Namespace, Meta) // a quarantine, in which holders are believed
	_, err = s.tryRenew(first)
	require.ErrorIs(t, err, lease.ErrLost)
	s.requireQuarantine()
}

func retakenOnce(t *testing.T, b *bench) {
	s := b.open(t, 1)
	former := s.acquire()
	s.release(former, former.Floor)
	g := s.acquire()
	b.Wipe(t)

	// Several that show the same ceiling: at most one can be right, so one gets it.
	const many = 6
	grants, errs := make([]lease.Grant, many), make([]error, many)
	together(many, func(i int) {
		forged := g
		forged.Owner = lease.NewOwner()
		grants[i], errs[i] = s.center().Renew(t.Context(), forged)
	})
	winner := -1
	for i, err := range errs {
		if err == nil {
			require.Equal(t, -1, winner, "two have re-taken one worker id")
			winner = i
			continue
		}
		require.NotErrorIs(t, err, lease.ErrLost, "its range is still ahead")
	}
	require.NotEqual(t, -1, winner, "one of them re-takes it")
	for _, late := range []lease.Grant{former, g} {
		_, err := s.center().Renew(t.Context(), late)
		_ = s.isQuarantine(err)
	}
	_, err := s.center().Renew(t.Context(), grants[winner])
	require.NoError(t, err)
}

func revived(t *testing.T, b *bench) {
	s := b.open(t, 1)
	former := s.acquire(ttl(short))
	restore := b.Snapshot(t)
	s.pass(former.Ceiling)
	g := s.acquire()
	restore()
	b.Reincarnate(t)
	_, err := s.tryRenew(former)
	require.ErrorIs(t, err, lease.ErrLost, "on record again, but expired")
	s.requireQuarantine()
	g = s.renew(g)
	require.NoError(t, s.tryRelease(g, g.Floor))
	_, err = s.tryRenew(former)
	require.ErrorIs(t, err, lease.ErrLost)
}

func staleRecord(t *testing.T, b *bench) {
	s := b.open(t, 1)
	former := s.acquire(ttl(3 * short))
	restore := b.Snapshot(t)
	s.release(former, former.Floor)
	g := s.acquire()
	restore()
	b.Reincarnate(t)
	// The record says that the former owner holds it, and may be right: try again.
	renewed, err := s.tryRenew(g)
	if err == nil {
		require.Greater(t, renewed.Now, former.Ceiling, "re-taken when the stale record has passed")
	} else {
		_ = s.isQuarantine(err)
	}
	s.requireQuarantine()
	s.pass(former.Ceiling)
	g = s.renew(g)
	s.requireQuarantine()
	s.renew(g)
}
