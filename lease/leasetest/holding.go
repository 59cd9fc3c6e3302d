package leasetest

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// holding returns the promises of Renew and Release without faults.
func holding() []promise {
	return []promise{
		{says: "a renewal raises the ceiling", prove: func(t *testing.T, b *bench) {
			s := b.open(t, 2)
			g := s.acquire(ttl(40 * time.Second))
			for range 3 {
				s.Sleep(15 * time.Millisecond)
				renewed := s.renew(g)
				require.Greater(t, renewed.Now, g.Now)
				require.Greater(t, renewed.Ceiling, g.Ceiling)
				require.Equal(t, renewed.Now+g.TTL.Milliseconds(), renewed.Ceiling)
				require.Equal(t, g.Token, renewed.Token)
				s.requireMark(g.Worker, renewed.Ceiling, "the ceiling is stored before it may be used")
				g = renewed
			}
		}},
		{says: "a renewal lowers neither the mark nor the expiry", prove: func(t *testing.T, b *bench) {
			s := b.open(t, 1)
			g := s.acquire()
			require.Equal(t, g.Ceiling, s.renew(renewFor(g, time.Second)).Ceiling)
			require.Equal(t, g.Ceiling+1, s.requireFull().Soonest.UnixMilli())
			s.requireMark(0, g.Ceiling, "the mark never falls")
			lost := g // the reply to the next renewal does not arrive
			s.Sleep(15 * time.Millisecond)
			g = s.renew(g)
			again := s.renew(renewFor(lost, time.Second)).Ceiling
			if b.Traits().RenewsAlone { // answers from what the holder sent
				require.GreaterOrEqual(t, again, lost.Ceiling)
				require.LessOrEqual(t, again, g.Ceiling)
			} else {
				require.Equal(t, g.Ceiling, again)
			}
			s.requireMark(0, g.Ceiling, "the mark never falls")
			if slot, ok := s.slot(0); ok {
				require.Equal(t, g.Ceiling, slot.Expires)
			}
		}},
		{says: "a holder restores a renewal that the store lost", alone: true, prove: func(t *testing.T, b *bench) {
			s := b.open(t, 1)
			g := s.acquire(ttl(40 * time.Second))
			restore := b.Snapshot(t)
			g = s.renew(renewFor(g, long))
			restore()
			require.Equal(t, g.Ceiling, s.renew(renewFor(g, time.Second)).Ceiling)
			require.Equal(t, g.Ceiling+1, s.requireFull().Soonest.UnixMilli())
			s.requireMark(0, g.Ceiling, "the record covers again what the holder may have used")
		}},
		{says: "renewal and release are fenced by owner and token", prove: fenced},
		{says: "the lease ends on the center's clock", prove: endsOnCentersClock},
		{says: "an expired grant is lost for good", prove: expiredIsLost},
		{says: "a grant that is about to expire is lost", prove: func(t *testing.T, b *bench) {
			// The record of an earlier owner that a failover has revived looks like this.
			s := b.open(t, 1, func(r *lease.Request) { r.Skew = 250 * time.Millisecond })
			g := s.acquire(ttl(2 * s.base.Skew))
			s.Sleep(s.base.Skew + 30*time.Millisecond)
			_, err := s.tryRenew(g)
			require.ErrorIs(t, err, lease.ErrLost, "it expires within the skew")
			_, err = s.tryRenew(g)
			require.ErrorIs(t, err, lease.ErrLost)
		}},
		{says: "a release frees the worker id at once", prove: func(t *testing.T, b *bench) {
			s := b.open(t, 1)
			for range 5 {
				g := s.acquire()
				s.requireFull()
				s.release(g, g.Floor)
			}
			g := s.renew(s.acquire())
			s.Sleep(20 * time.Millisecond)
			s.release(g, g.Now) // the last use is in the past
			require.GreaterOrEqual(t, s.acquire().Floor, g.Now)
		}},
		{says: "a released grant is lost", prove: func(t *testing.T, b *bench) {
			s := b.open(t, 1)
			g := s.acquire()
			s.release(g, g.Floor)
			_, err := s.tryRenew(g)
			require.ErrorIs(t, err, lease.ErrLost)
			require.ErrorIs(t, s.tryRelease(g, math.MaxInt64), lease.ErrLost)
			s.requireMark(0, g.Floor, "the second release changes nothing")
			next := s.acquire()
			require.ErrorIs(t, s.tryRelease(g, math.MaxInt64), lease.ErrLost)
			s.requireFull()
			s.renew(next)
		}},
		{says: "a release clamps the last use to the grant", prove: clamped},
		{says: "ranges are disjoint whatever holders do", prove: func(t *testing.T, b *bench) {
			s := b.open(t, 3, maxTTL(short), above)
			for range 3 {
				s.anything(t, 40)
				s.lendAll()
			}
		}},
	}
}

func fenced(t *testing.T, b *bench) {
	s := b.open(t, 2)
	g, other := s.acquire(), s.acquire()
	for name, forge := range map[string]func(*lease.Grant){
		"another owner":                func(g *lease.Grant) { g.Owner = lease.NewOwner() },
		"a later token":                func(g *lease.Grant) { g.Token++ },
		"another worker id":            func(g *lease.Grant) { g.Worker = other.Worker },
		"the other's owner":            func(g *lease.Grant) { g.Owner = other.Owner },
		"the other's worker and token": func(g *lease.Grant) { g.Worker, g.Token = other.Worker, other.Token },
	} {
		forged := g
		forge(&forged)
		if forged.Owner == g.Owner && forged.Worker == g.Worker && forged.Token == g.Token {
			continue
		}
		_, err := s.center().Renew(t.Context(), forged)
		require.ErrorIs(t, err, lease.ErrLost, name)
		require.ErrorIs(t, s.center().Release(t.Context(), forged, forged.Floor), lease.ErrLost, name)
		s.requireFull()
		s.requireMark(g.Worker, g.Ceiling, name)
		s.requireMark(other.Worker, other.Ceiling, name)
	}
	// A holder that missed the reply with its next range has an earlier token. It may renew, but
	// cannot release.
	earlier := g
	earlier.Token--
	require.ErrorIs(t, s.center().Release(t.Context(), earlier, earlier.Floor), lease.ErrLost)
	s.requireMark(g.Worker, g.Ceiling, "the mark stays")
	current, err := s.tryRenew(earlier)
	require.NoError(t, err)
	require.Equal(t, g.Token, current.Token)
	s.renew(g)
	s.renew(other)
}

func endsOnCentersClock(t *testing.T, b *bench) {
	s := b.open(t, 1)
	g := s.acquire(ttl(40 * time.Second))
	const far = int64(4 * time.Minute / time.Millisecond) // below lease.MaxClockError
	for _, off := range []int64{far, -far} {
		full := s.requireFull(local(s.now.Load() + off))
		require.Equal(t, g.Ceiling+1, full.Soonest.UnixMilli(), "the clock of the requester does not count")
	}
	wrong := g
	wrong.CallerTime = g.Now + 30*far // the holder's clock was set during the lease
	wrong = s.renew(wrong)
	require.Less(t, wrong.Ceiling, g.Ceiling+far, "the clock of the holder does not count")
	require.NoError(t, s.tryRelease(wrong, wrong.Floor))

	for _, off := range []int64{far, -far} {
		g = s.acquire(ttl(short), local(s.now.Load()+off))
		next, err := s.tryAcquire()
		for ; err != nil; next, err = s.tryAcquire() {
			var full *lease.NoFreeWorkerError
			require.ErrorAs(t, err, &full)
			require.Equal(t, g.Ceiling+1, full.Soonest.UnixMilli())
			require.LessOrEqual(t, full.Now.UnixMilli(), g.Ceiling, "a worker id is free after its lease")
			s.Sleep(25 * time.Millisecond)
		}
		require.Greater(t, next.Now, g.Ceiling, "lent only after the former lease")
		require.GreaterOrEqual(t, next.Floor, g.Ceiling)
		s.release(next, next.Floor)
	}
}

func expiredIsLost(t *testing.T, b *bench) {
	s := b.open(t, 1)
	g := s.acquire(ttl(short))
	s.pass(g.Ceiling)
	for range 2 {
		_, err := s.tryRenew(g)
		require.ErrorIs(t, err, lease.ErrLost, "another holder could have taken the worker id")
	}
	next := s.acquire()
	_, err := s.tryRenew(g)
	require.ErrorIs(t, err, lease.ErrLost)
	require.ErrorIs(t, s.tryRelease(g, g.Ceiling), lease.ErrLost)
	next = s.renew(next)
	s.requireFull()
	s.release(next, next.Floor)
	_, err = s.tryRenew(g)
	require.ErrorIs(t, err, lease.ErrLost)

	// The owner may call Acquire again and gets another grant.
	s.pass(next.Now)
	g = s.acquire(owner(g.Owner))
	require.GreaterOrEqual(t, g.Floor, next.Floor)
}

func clamped(t *testing.T, b *bench) {
	s := b.open(t, 12)
	for name, of := range map[string]func(g lease.Grant) (lastUsed, mark int64){
		"never used":              func(g lease.Grant) (int64, int64) { return 0, g.Floor },
		"below zero":              func(g lease.Grant) (int64, int64) { return math.MinInt64, g.Floor },
		"of an earlier grant":     func(g lease.Grant) (int64, int64) { return g.Floor - 60_000, g.Floor },
		"at the floor":            func(g lease.Grant) (int64, int64) { return g.Floor, g.Floor },
		"the first":               func(g lease.Grant) (int64, int64) { return g.Floor + 1, g.Floor + 1 },
		"ahead of the clock":      func(g lease.Grant) (int64, int64) { return g.Now + 50_000, g.Now + 50_000 },
		"the last":                func(g lease.Grant) (int64, int64) { return g.Ceiling, g.Ceiling },
		"above the ceiling":       func(g lease.Grant) (int64, int64) { return g.Ceiling + 1, g.Ceiling },
		"hours above the ceiling": func(g lease.Grant) (int64, int64) { return g.Ceiling + 3_600_000, g.Ceiling },
		"the largest integer":     func(g lease.Grant) (int64, int64) { return math.MaxInt64, g.Ceiling },
	} {
		g := s.acquire()
		if name == "the last" {
			g = s.renew(g)
		}
		lastUsed, mark := of(g)
		require.NoError(t, s.tryRelease(g, lastUsed), name)
		s.requireMark(g.Worker, mark, name)
		mine := workers(g.Worker, g.Worker)
		if mark > g.Now+1000 { // nearer ones may pass while the center is asked
			require.Equal(t, mark+1, s.requireFull(mine).Soonest.UnixMilli(), name)
			continue
		}
		s.pass(mark)
		next := s.acquire(mine)
		require.GreaterOrEqual(t, next.Floor, mark, name)
	}
}

// anything makes n random steps of holders with short leases. They borrow, renew (even grants
// that they lost long ago), release, and wait. Only known errors may occur, and the ledger checks
// the ranges. Holders stay from one call to the next.
func (s *space) anything(t *testing.T, n int) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range n {
		at := 0
		if len(s.holders) > 0 {
			at = rng.IntN(len(s.holders))
		}
		switch kind := rng.IntN(12); {
		case kind < 4 || len(s.holders) == 0:
			g, err := s.tryAcquire(ttl([]time.Duration{lease.MinTTL, short / 2, short}[rng.IntN(3)]))
			if err == nil {
				s.holders = append(s.holders, g)
			} else {
				requireKnown(t, err)
			}
		case kind < 7:
			g, err := s.tryRenew(s.holders[at])
			if err == nil {
				s.holders[at] = g
			} else {
				requireKnown(t, err)
				if rng.IntN(2) == 0 { // the others may try again much later
					s.holders = slices.Delete(s.holders, at, at+1)
				}
			}
		case kind < 10:
			g := s.holders[at]
			lastUsed := []int64{0, g.Floor, g.Now, g.Floor + 1 + rng.Int64N(max(1, g.Ceiling-g.Floor)), math.MaxInt64}[rng.IntN(5)]
			if err := s.tryRelease(g, lastUsed); err != nil {
				requireKnown(t, err)
			}
			s.holders = slices.Delete(s.holders, at, at+1)
		default:
			s.Sleep(time.Duration(1+rng.IntN(80)) * time.Millisecond)
		}
	}
}

// requireKnown fails the test for errors that a holder need not expect.
func requireKnown(t testing.TB, err error) {
	t.Helper()
	var (
		full       *lease.NoFreeWorkerError
		quarantine *lease.QuarantineError
	)
	if !errors.As(err, &full) && !errors.As(err, &quarantine) && !errors.Is(err, lease.ErrLost) {
		require.NoError(t, err)
	}
}
