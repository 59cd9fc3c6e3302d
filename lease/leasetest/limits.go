package leasetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

func standsStill(b *bench) bool { return b.Traits().StandsStill }

// limits returns the promises about limits, which are tested to the millisecond.
func limits() []promise {
	promises := []promise{
		{says: "a lease holds to its last millisecond", prove: func(t *testing.T, b *bench) {
			s, g := lentOne(t, b)
			s.reach(g, g.Ceiling)
			s.requireFull()
			s.Sleep(time.Millisecond)
			require.Equal(t, g.Ceiling, s.acquire().Floor)
		}},
		{says: "a mark holds to its last millisecond", prove: func(t *testing.T, b *bench) {
			s, g := lentOne(t, b)
			s.release(g, g.Now)
			s.requireFull()
			s.Sleep(time.Millisecond)
			require.Equal(t, g.Now, s.acquire().Floor)
		}},
		{says: "a grant is renewed until the skew before its end", prove: func(t *testing.T, b *bench) {
			s, g := lentOne(t, b)
			s.reach(g, s.margin(g))
			g = s.renew(g)
			s.reach(g, s.margin(g)+1)
			_, err := s.tryRenew(g)
			require.ErrorIs(t, err, lease.ErrLost)
		}},
		// A lease with less than the skew left could be the record of an earlier owner that a failover
		// has revived.
		{says: "a grant is repeated until the skew before its end", prove: func(t *testing.T, b *bench) {
			s := b.open(t, 2)
			g := s.acquire()
			s.reach(g, s.margin(g))
			again, err := s.ask(g.Request)
			require.NoError(t, err)
			require.Equal(t, g.Ceiling, again.Ceiling)
			s.Sleep(time.Millisecond)
			require.NotEqual(t, g.Worker, s.acquire(owner(g.Owner)).Worker)
		}},
		{says: "a range ahead of the clock is lent from its first millisecond on", prove: func(t *testing.T, b *bench) {
			s := b.open(t, 1, above)
			g := s.acquire()
			b.Wipe(t)
			horizon := s.horizon(s.requireQuarantine(exact))
			require.Equal(t, g.Now+(s.base.MaxTTL+s.base.Skew).Milliseconds(), horizon)
			first := horizon - s.base.MaxLead.Milliseconds() + 1
			s.reach(g, first-1)
			_, err := s.tryAcquire()
			require.Equal(t, time.Millisecond, s.isQuarantine(err).Wait())
			s.Sleep(time.Millisecond)
			next := s.acquire()
			require.Equal(t, []int64{horizon, first + s.base.MaxTTL.Milliseconds()}, []int64{next.Floor, next.Ceiling})
			require.Greater(t, next.Token, g.Token, "tokens rise across a loss")

			// Until the clock has passed the quarantine, a range above a mark also begins ahead of the
			// clock.
			s.release(next, next.Ceiling)
			full := s.requireFull()
			require.Equal(t, next.Ceiling-s.base.MaxLead.Milliseconds()+1, full.Soonest.UnixMilli())
			s.Sleep(full.Wait())
			again := s.acquire()
			require.Equal(t, next.Ceiling, again.Floor)
			s.release(again, horizon+1000)
			s.reach(again, horizon)
			again = s.acquire()
			s.release(again, horizon+1000)
			s.Sleep(time.Millisecond)
			require.Equal(t, horizon+1001, s.requireFull().Soonest.UnixMilli(), "times are exact again")
		}},
		{says: "a holder continues above a quarantine from the first millisecond on", by: looksAtIncarnation, prove: func(t *testing.T, b *bench) {
			s := b.open(t, 1, above)
			g := s.acquire()
			b.Reincarnate(t)
			horizon := s.horizon(s.requireQuarantine(exact))
			first := horizon - s.base.MaxLead.Milliseconds() + 1
			s.reach(g, first-1)
			_, err := s.tryRenew(g)
			require.Equal(t, time.Millisecond, s.isQuarantine(err).Wait())
			s.Sleep(time.Millisecond)
			next, err := s.tryRenew(g)
			require.NoError(t, err)
			require.Equal(t, []int64{horizon, first + s.base.MaxTTL.Milliseconds()}, []int64{next.Floor, next.Ceiling})
			s.Sleep(s.base.TTL / 2)
			next = s.renew(next)
			s.reach(next, horizon+1) // the clock has caught up
			next = s.renew(next)
			require.Equal(t, horizon+1+s.base.TTL.Milliseconds(), next.Ceiling)
		}},
		{says: "a quarantine holds to its last millisecond", prove: func(t *testing.T, b *bench) {
			s, g := lentOne(t, b)
			b.Wipe(t)
			last := s.requireQuarantine().Until.UnixMilli() - 1
			require.Equal(t, g.Now+(s.base.MaxTTL+s.base.Skew).Milliseconds(), last)
			s.reach(g, last)
			require.Equal(t, time.Millisecond, s.requireQuarantine().Wait())
			s.Sleep(time.Millisecond)
			next := s.acquire()
			require.Equal(t, last, next.Floor)
			require.Greater(t, next.Token, g.Token, "tokens rise across a loss")
		}},
		{says: "a clock step back does not shorten a quarantine", prove: func(t *testing.T, b *bench) {
			s, _ := lentOne(t, b)
			b.Wipe(t)
			first := s.requireQuarantine()
			s.Sleep(-10 * time.Second)
			b.Drop(t, s.base.Namespace, OneMark)
			for range 2 { // the call that notices the loss, and the next
				require.Equal(t, first.Until.Add(time.Millisecond), s.requireQuarantine().Until, "a loss shows in the quarantine")
			}
		}},
		{says: "a quarantine by hand does not shorten another one", prove: func(t *testing.T, b *bench) {
			s, _ := lentOne(t, b)
			op := operator(t, b)
			first, err := op.Quarantine(t.Context(), s.base.Namespace, "restored")
			require.NoError(t, err)
			s.Sleep(-10 * time.Second)
			again, err := op.Quarantine(t.Context(), s.base.Namespace, "restored again")
			require.NoError(t, err)
			require.Equal(t, first.Quarantine, again.Quarantine)
			require.Equal(t, "restored again", again.Reason)
		}},
	}
	for i := range promises {
		also := promises[i].by
		promises[i].alone, promises[i].by = true, func(b *bench) bool { return standsStill(b) && (also == nil || also(b)) }
	}
	return promises
}

// lentOne returns a namespace with one worker id, and the grant of that worker id.
func lentOne(t *testing.T, b *bench) (*space, lease.Grant) {
	t.Helper()
	s := b.open(t, 1)
	return s, s.acquire()
}

// margin returns the time at which g has just the skew left.
func (s *space) margin(g lease.Grant) int64 { return g.Ceiling - s.base.Skew.Milliseconds() }

// reach moves the clock from g.Now to ms.
func (s *space) reach(g lease.Grant, ms int64) { s.Sleep(time.Duration(ms-g.Now) * time.Millisecond) }
