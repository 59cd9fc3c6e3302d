package leasetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/keeper"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// lending returns the promises of Acquire without faults.
func lending() []promise {
	return []promise{
		{says: "a worker id is lent to one holder at a time", prove: func(t *testing.T, b *bench) {
			s := b.open(t, 8)
			seen := map[int64]bool{}
			for range 8 {
				g := s.acquire()
				require.False(t, seen[g.Worker], "worker %d is lent already", g.Worker)
				seen[g.Worker] = true
			}
			s.requireFull()
		}},
		{says: "a full pool says when the first worker id is free", prove: soonest},
		{says: "asked again, the same owner gets the same grant", prove: askedAgain},
		{says: "a borrow that arrives after its grant was given back lends nothing", prove: arrivesLate},
		{says: "starts that are given up leave nothing lent", timed: true, prove: givenUp},
		{says: "a new holder starts above all earlier ranges of its worker id", prove: startsAbove},
		{says: "a worker id that was given back is not lent while its mark is ahead", prove: func(t *testing.T, b *bench) {
			s := b.open(t, 4)
			ahead := s.acquire()
			s.release(ahead, ahead.Ceiling)
			for range 8 { // in any order of lending
				g := s.acquire()
				require.NotEqual(t, ahead.Worker, g.Worker)
				s.release(g, g.Floor)
				s.Sleep(2 * time.Millisecond)
			}
		}},
		{says: "least recently used first", by: lendsLeastRecentlyUsed, prove: leastRecentlyUsed},
		{says: "requests get worker ids of their range only", prove: workerRanges},
		{says: "concurrent requests get every worker id once", prove: stampede},
		{says: "contended worker ids are never lent twice", prove: contended},
	}
}

func soonest(t *testing.T, b *bench) {
	s := b.open(t, 4)
	var first, second lease.Grant
	for _, d := range []time.Duration{58 * time.Second, 40 * time.Second, 50 * time.Second, 45 * time.Second} {
		g := s.acquire(ttl(d))
		switch d {
		case 40 * time.Second:
			first = g
		case 45 * time.Second:
			second = g
		}
	}
	full := s.requireFull()
	require.Equal(t, first.Ceiling+1, full.Soonest.UnixMilli(), "one millisecond after the first expiry")
	require.Equal(t, full.Soonest.Sub(full.Now), full.Wait())
	require.GreaterOrEqual(t, full.Now.UnixMilli(), second.Now)

	s.renew(renewFor(first, 55*time.Second))
	full = s.requireFull()
	require.Equal(t, second.Ceiling+1, full.Soonest.UnixMilli(), "the first has been renewed")

	s.release(second, second.Ceiling)
	full = s.requireFull()
	require.Equal(t, second.Ceiling+1, full.Soonest.UnixMilli(), "given back, but used until then")
}

// renewFor returns g with another TTL for its next renewal.
func renewFor(g lease.Grant, d time.Duration) lease.Grant {
	g.TTL = d
	return g
}

func askedAgain(t *testing.T, b *bench) {
	s := b.open(t, 2)
	req := s.request(ttl(40 * time.Second))
	g, err := s.ask(req)
	require.NoError(t, err)
	s.Sleep(20 * time.Millisecond)
	again := func(ceiling int64, why string) {
		t.Helper()
		a, err := s.ask(req)
		require.NoError(t, err)
		require.Less(t, a.Floor, a.Now, "the holder can issue an id at once")
		require.GreaterOrEqual(t, a.Now, g.Now)
		want := g
		want.Now, want.Ceiling = a.Now, ceiling
		require.Equal(t, want, a, why)
	}
	again(g.Ceiling, "the reply was lost")
	renewed := s.renew(renewFor(g, 50*time.Second))
	again(renewed.Ceiling, "the reply was lost, and the grant has been renewed since")

	other := s.acquire()
	require.NotEqual(t, g.Worker, other.Worker)
	again(renewed.Ceiling, "the pool is full")
	s.requireFull()
	// The owner had one slot in all, which it now releases.
	s.release(renewed, renewed.Floor)
	s.acquire()
	s.requireFull()
}

func arrivesLate(t *testing.T, b *bench) {
	s := b.open(t, 2)
	req := s.request()
	g, err := s.ask(req)
	require.NoError(t, err)
	g = s.renew(g)
	s.release(g, g.Floor)
	for range 2 {
		_, err = s.ask(req)
		require.ErrorIs(t, err, lease.ErrLost)
	}
	mine := workers(g.Worker, g.Worker)
	next := s.acquire(mine)
	_, err = s.ask(s.request(mine))
	require.ErrorAs(t, err, new(*lease.NoFreeWorkerError))
	s.release(s.renew(next), next.Floor)
	s.acquire()
	s.acquire()
	s.requireFull()
}

// patient ends no call early, so that a slow machine answers each before the keeper gives it up.
type patient struct{ lease.Center }

func (p patient) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	return p.Center.Acquire(context.WithoutCancel(ctx), r)
}

func (p patient) Release(ctx context.Context, g lease.Grant, lastUsed int64) error {
	return p.Center.Release(context.WithoutCancel(ctx), g, lastUsed)
}

// givenUp starts keepers whose contexts end at any step of their borrows.
func givenUp(t *testing.T, b *bench) {
	const pool, many, each = 16, 4, 30
	s := b.open(t, pool)
	errs := make([]error, many)
	together(many, func(i int) {
		for n := range each {
			gen := generator.New(snowflake.Layout{})
			k := keeper.New(keeper.Config{Center: patient{s.center()}, Generator: gen, Request: s.base})
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Duration(many*n+i)%40*100*time.Microsecond, cancel)
			if k.Start(ctx) == nil {
				errs[i] = errors.Join(errs[i], k.Stop(t.Context()))
			}
			cancel()
		}
	})
	require.NoError(t, errors.Join(errs...))
	s.Sleep(2 * time.Millisecond)
	for range pool {
		s.acquire()
	}
	s.requireFull()
}

func startsAbove(t *testing.T, b *bench) {
	s := b.open(t, 1)
	token := int64(0)
	next := func(d time.Duration) lease.Grant {
		t.Helper()
		above := s.lowest(0)
		g := s.acquire(ttl(d))
		require.GreaterOrEqual(t, g.Floor, above, "a holder starts above its predecessors")
		require.Greater(t, g.Token, token, "the token rises with every grant of a worker id")
		token = g.Token
		return g
	}
	g := next(short)
	s.pass(g.Ceiling)
	g = s.renewIfAlive(next(short)) // another predecessor that renews and then disappears
	s.pass(g.Ceiling)
	g = next(long)
	s.release(g, g.Now+150) // it was ahead of the clock
	if full := (*lease.NoFreeWorkerError)(nil); errors.As(s.asked(), &full) {
		require.Equal(t, g.Now+151, full.Soonest.UnixMilli())
	}
	s.pass(g.Now + 151)
	g = next(long)
	s.release(g, g.Floor) // it issued nothing
	s.pass(g.Now)
	next(long)
}

// renewIfAlive renews a short lease unless the machine was too slow.
func (s *space) renewIfAlive(g lease.Grant) lease.Grant {
	s.t.Helper()
	renewed, err := s.tryRenew(g)
	if err != nil {
		require.ErrorIs(s.t, err, lease.ErrLost)
		return g
	}
	return renewed
}

// asked borrows a worker id, releases it unused, and returns the error.
func (s *space) asked() error {
	g, err := s.tryAcquire()
	if err == nil {
		err = s.tryRelease(g, g.Floor)
		s.pass(g.Now)
	}
	return err
}

func leastRecentlyUsed(t *testing.T, b *bench) {
	s := b.open(t, 4)
	var grants [4]lease.Grant
	for range grants {
		g := s.acquire()
		grants[g.Worker] = g
	}
	order := []int64{2, 0, 3, 1}
	for _, w := range order {
		s.Sleep(5 * time.Millisecond)
		s.release(grants[w], 0)
	}
	s.Sleep(5 * time.Millisecond)
	for _, want := range order {
		require.Equal(t, want, s.acquire().Worker, "given back in the order %v", order)
	}

	s = b.open(t, 3)
	used := map[int64]bool{}
	for range 3 {
		s.Sleep(5 * time.Millisecond)
		g := s.acquire()
		require.False(t, used[g.Worker], "worker %d was used, others never", g.Worker)
		used[g.Worker] = true
		s.release(g, 0)
	}
}

func workerRanges(t *testing.T, b *bench) {
	s := b.open(t, 8)
	low, high, one := workers(0, 3), workers(4, 6), workers(7, 7)
	held := s.acquire(high)
	for range 8 { // in any order of lending
		g := s.acquire(high)
		s.release(g, g.Floor)
		s.Sleep(2 * time.Millisecond)
	}
	s.release(held, held.Floor)
	s.Sleep(2 * time.Millisecond)
	soonest := s.acquire(low, ttl(30*time.Second)) // expires before all others
	for range 3 {
		s.acquire(low)
	}
	s.requireFull(low)
	first := s.acquire(high, ttl(40*time.Second))
	s.acquire(high)
	s.acquire(high)
	full := s.requireFull(high)
	require.Equal(t, first.Ceiling+1, full.Soonest.UnixMilli(), "the first of the range, not of the pool")
	full = s.requireFull(low)
	require.Equal(t, soonest.Ceiling+1, full.Soonest.UnixMilli())
	require.Equal(t, int64(7), s.acquire(one).Worker)
	s.requireFull(one)
	s.requireFull()
	s.renew(first)
	s.release(first, 0)
	s.requireFull(low)
	require.Equal(t, first.Worker, s.acquire(high).Worker)
}

func stampede(t *testing.T, b *bench) {
	const pool, many = 16, 100
	s := b.open(t, pool)
	grants, errs := make([]lease.Grant, many), make([]error, many)
	together(many, func(i int) { grants[i], errs[i] = s.tryAcquire() })
	seen, refused := map[int64]bool{}, 0
	for i, err := range errs {
		if full := (*lease.NoFreeWorkerError)(nil); errors.As(err, &full) {
			refused++
			continue
		}
		require.NoError(t, err)
		require.False(t, seen[grants[i].Worker], "worker %d is lent twice", grants[i].Worker)
		seen[grants[i].Worker] = true
	}
	require.Len(t, seen, pool)
	require.Equal(t, many-pool, refused)
}

func contended(t *testing.T, b *bench) {
	const many, rounds = 8, 12
	s := b.open(t, 3)
	errs := make([]error, many)
	together(many, func(i int) {
		for range rounds {
			g, err := s.tryAcquire()
			if full := (*lease.NoFreeWorkerError)(nil); errors.As(err, &full) {
				continue
			}
			if err == nil {
				g, err = s.tryRenew(g)
			}
			if err == nil {
				err = s.tryRelease(g, g.Now)
			}
			errs[i] = errors.Join(errs[i], err)
		}
	})
	require.NoError(t, errors.Join(errs...), "requests of others do not disturb a holder")
	require.GreaterOrEqual(t, s.loans(), 3)
	s.pass(s.now.Load())
	for range 3 {
		s.acquire() // nothing has leaked
	}
	s.requireFull()
}

// together runs f n times concurrently.
func together(n int, f func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}
