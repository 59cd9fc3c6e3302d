package leasetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/idworker/lease"
)

func standsStill(b *bench) bool { return b.Traits().StandsStill }

// limits is when each promise ends, to the millisecond.
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
		// What runs for less than the skew could be a former owner's record that a
		// failover has revived.
		{says: "a grant is told again until the skew before its end", prove: func(t *testing.T, b *bench) {
			s := b.open(t, 2)
			g := s.acquire()
			s.reach(g, s.margin(g))
			again, err := s.ask(g.Request)
			require.NoError(t, err)
			require.Equal(t, g.Ceiling, again.Ceiling)
			s.Sleep(time.Millisecond)
			require.NotEqual(t, g.Worker, s.acquire(owner(g.Owner)).Worker)
		}},
		{says: "a worker id is re-taken before the skew of its ceiling", prove: func(t *testing.T, b *bench) {
			s, g := lentOne(t, b)
			s.reach(g, s.margin(g)-1)
			b.Wipe(t)
			s.renew(g)

			s, g = lentOne(t, b)
			s.reach(g, s.margin(g))
			b.Wipe(t)
			_, err := s.tryRenew(g)
			require.ErrorIs(t, err, lease.ErrLost)

			// Also where the loss was seen long before.
			for left, lost := range map[int64]bool{1: false, 0: true} {
				s, g = lentOne(t, b)
				b.Wipe(t)
				s.requireQuarantine()
				s.reach(g, s.margin(g)-left)
				if _, err = s.tryRenew(g); lost {
					require.ErrorIs(t, err, lease.ErrLost)
				} else {
					require.NoError(t, err)
				}
			}
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
		{says: "a clock that steps back cuts no quarantine short", prove: func(t *testing.T, b *bench) {
			s, _ := lentOne(t, b)
			b.Wipe(t)
			first := s.requireQuarantine()
			s.Sleep(-10 * time.Second)
			b.Drop(t, s.base.Namespace, OneMark)
			for range 2 { // who sees the loss, and who asks next
				require.Equal(t, first.Until, s.requireQuarantine().Until)
			}
		}},
		{says: "a ceiling that had passed when a quarantine began takes nothing back when the clock steps back", prove: func(t *testing.T, b *bench) {
			for left, lost := range map[int64]bool{1: false, 0: true} {
				s, g := lentOne(t, b)
				s.reach(g, s.margin(g)-left)
				b.Wipe(t)
				s.requireQuarantine()
				s.Sleep(-10 * time.Second)
				if _, err := s.tryRenew(g); lost {
					require.ErrorIs(t, err, lease.ErrLost)
				} else {
					require.NoError(t, err)
				}
			}
		}},
		// A quarantine that is over looks as if it lasted when the clock steps back, and
		// a former holder's ceiling as if it was ahead.
		{says: "what was lent after a quarantine is not taken back when the clock steps back", prove: func(t *testing.T, b *bench) {
			s, g := lentOne(t, b)
			b.Wipe(t)
			s.reach(g, s.requireQuarantine().Until.UnixMilli())
			former := s.acquire()
			s.reach(former, former.Ceiling+1)
			next := s.acquire()
			s.Sleep(time.Second)
			s.release(next, next.Now+1000)
			s.Sleep(time.Duration(former.Now-1-next.Now-1000) * time.Millisecond)
			require.Equal(t, time.Millisecond, s.requireQuarantine().Wait(), "by the clock it lasts")
			_, err := s.tryRenew(former)
			require.ErrorIs(t, err, lease.ErrLost)
		}},
	}
	for i := range promises {
		promises[i].alone, promises[i].by = true, standsStill
	}
	return promises
}

// lentOne is a pool of one worker id, which is lent.
func lentOne(t *testing.T, b *bench) (*space, lease.Grant) {
	t.Helper()
	s := b.open(t, 1)
	return s, s.acquire()
}

// margin is the skew before the end of g.
func (s *space) margin(g lease.Grant) int64 { return g.Ceiling - s.base.Skew.Milliseconds() }

// reach moves the clock from g's now to ms.
func (s *space) reach(g lease.Grant, ms int64) { s.Sleep(time.Duration(ms-g.Now) * time.Millisecond) }
