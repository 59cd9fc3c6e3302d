package takeover_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/snowlease/snowlease/casstore"
	"github.com/snowlease/snowlease/internal/migrate"
	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/internal/takeover"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	narrow = snowflake.Layout{TimeBits: 41, WorkerBits: 2, SequenceBits: 6}.WithDefaults()
	wide   = snowflake.Layout{TimeBits: 41, WorkerBits: 4, SequenceBits: 4}.WithDefaults()
)

func side(c lease.Center, namespace string, l snowflake.Layout, first, last int64) takeover.Side {
	return takeover.Side{Center: c, Layout: l, Request: lease.Request{
		Namespace: namespace, Layout: l.String(), Holder: "shop", Owner: lease.NewOwner(),
		Pool: l.Workers(), First: first, Last: last, TTL: time.Minute, MaxTTL: time.Minute, Skew: time.Second,
	}}
}

// operated adds the operator of its store to a center.
type operated struct{ *memcenter.Center }

func (c operated) Extras() lease.Extras {
	extras := c.Center.Extras()
	extras.Operator = casstore.New(c.Store).Extras().Operator
	return extras
}

// opened returns a side with all worker ids of a new center.
func opened(t *testing.T, namespace string, l snowflake.Layout) (takeover.Side, *memcenter.Center) {
	t.Helper()
	c := memcenter.New()
	s := side(operated{c}, namespace, l, 0, l.Workers()-1)
	require.NoError(t, c.Init(t.Context(), s.Request))
	return s, c
}

func TestApart(t *testing.T) {
	t.Parallel()
	other := wide
	other.Epoch++
	shifted := snowflake.Layout{TimeBits: 41, WorkerBits: 4, SequenceBits: 5}.WithDefaults()
	part := side(nil, "a", wide, 8, 12) // 13 is the last worker id of its pool
	part.Request.Pool = 14
	reserves := part
	reserves.Request.Last = 13
	for _, c := range []struct {
		old, next takeover.Side
		fault     string
	}{
		{side(nil, "a", narrow, 0, 1), side(nil, "b", narrow, 2, 3), ""},
		{side(nil, "a", narrow, 0, 1), side(nil, "b", narrow, 1, 3), "the bits of the new worker ids 0-1"},
		{side(nil, "a", narrow, 0, 1), side(nil, "b", wide, 7, 15), "the bits of the new worker ids 0-7"},
		{side(nil, "a", narrow, 3, 3), side(nil, "b", wide, 0, 12), "the bits of the new worker ids 12-15"},
		{side(nil, "a", wide, 1, 4), side(nil, "b", narrow, 1, 3), "the bits of the new worker ids 0-1"},
		{part, side(nil, "b", wide, 13, 15), ""},
		{reserves, side(nil, "b", wide, 14, 15), "the old worker ids 8-15 have the bits"},
		{side(nil, "a", wide, 15, 15), reserves, "the bits of the new worker ids 15-15"},
		{side(nil, "a", narrow, 0, 0), side(nil, "b", other, 8, 15), "the same epoch"},
		{side(nil, "a", narrow, 0, 0), side(nil, "b", shifted, 8, 15), "number of bits below the time"},
	} {
		err := takeover.Apart(c.old, c.next)
		if c.fault == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, takeover.ErrNotApart)
		require.ErrorContains(t, err, c.fault)
	}
}

// Apart fails exactly if some id of one side equals one of the other. The layouts are
// small enough to compare all ids of a tick.
func TestApartIsExact(t *testing.T) {
	t.Parallel()
	apart := 0
	for range 3000 {
		deal := func() takeover.Side {
			w := uint8(1 + rand.IntN(4))
			business := uint8(rand.IntN(2))
			l := snowflake.Layout{TimeBits: 41, WorkerBits: w, BusinessBits: business, SequenceBits: 6 - w - business}.WithDefaults()
			first := rand.Int64N(l.Workers())
			return side(nil, "a", l, first, first+rand.Int64N(l.Workers()-first))
		}
		a, b := deal(), deal()
		ids := map[int64]bool{}
		each := func(s takeover.Side, f func(id int64)) {
			for w := s.Request.First; w <= s.Request.Last; w++ {
				for business := range int64(1) << s.Layout.BusinessBits {
					for n := range s.Layout.PerTick() {
						id, err := s.Layout.Encode(snowflake.Parts{Time: time.UnixMilli(1_800_000_000_000), Worker: w, Business: business, Sequence: n})
						require.NoError(t, err)
						f(id)
					}
				}
			}
		}
		each(a, func(id int64) { ids[id] = true })
		equal := false
		each(b, func(id int64) { equal = equal || ids[id] })
		err := takeover.Apart(a, b)
		require.Equal(t, equal, err != nil, "%+v %+v: %v", a.Request, b.Request, err)
		if err == nil {
			apart++
		}
	}
	require.Greater(t, apart, 300)
}

func TestTake(t *testing.T) {
	t.Parallel()
	old, from := opened(t, "a", narrow)
	next, to := opened(t, "b", wide)
	to.Advance(-150 * time.Millisecond) // the new center's clock is behind
	g, err := from.Acquire(t.Context(), old.Request)
	require.NoError(t, err)

	_, err = takeover.Take(t.Context(), old, next)
	var live *takeover.LiveError
	require.ErrorAs(t, err, &live)
	require.Equal(t, takeover.LiveError{Side: "old", Worker: g.Worker, Holder: "shop", Until: time.UnixMilli(g.Ceiling + 1)}, *live)
	require.ErrorContains(t, err, `worker id 0 of the old side is lent to "shop" until`)

	// The process ran ahead of the clock, so Take waits for its mark to pass.
	require.NoError(t, from.Release(t.Context(), g, g.Now+3000))
	_, err = takeover.Take(t.Context(), old, next)
	require.ErrorAs(t, err, &live)
	require.Empty(t, live.Holder)
	require.ErrorContains(t, err, "is in use up to")
	from.Set(time.UnixMilli(g.Now + 3001))
	to.Set(time.UnixMilli(g.Now + 2800))

	r, err := takeover.Take(t.Context(), old, next)
	require.NoError(t, err)
	require.GreaterOrEqual(t, r.Mark, g.Now+3000)
	slots, err := to.Slots(t.Context(), "b")
	require.NoError(t, err)
	require.Len(t, slots, 16)
	for _, s := range slots {
		require.GreaterOrEqual(t, s.HighWater, r.Mark, "new floors lie above every old mark")
		require.Empty(t, s.Holder)
	}
	// Nobody starts on the old side, even after a clock step back on the new side.
	request := old.Request
	request.Owner = lease.NewOwner()
	_, err = from.Acquire(t.Context(), request)
	require.ErrorAs(t, err, new(*lease.MismatchError))
	to.Advance(-time.Second)
	request = next.Request
	request.Owner = lease.NewOwner()
	_, err = to.Acquire(t.Context(), request)
	var full *lease.NoFreeWorkerError
	require.ErrorAs(t, err, &full)
	require.GreaterOrEqual(t, full.Soonest.UnixMilli(), r.Mark)
}

// A Take that lasts for longer than a TTL keeps what it has borrowed.
func TestSlowTake(t *testing.T) {
	t.Parallel()
	for name, skew := range map[string]time.Duration{"short skew": time.Second, "longest skew": 30 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				from := memcenter.New()
				old := side(operated{from}, "a", wide, 0, 15)
				old.Request.Skew = skew
				require.NoError(t, from.Init(t.Context(), old.Request))
				next, to := opened(t, "b", wide)
				to.Advance(-old.Request.TTL)
				slow := func(c *memcenter.Center, by time.Duration) { // of 16 worker ids
					c.Intercept(func(_ context.Context, _ string, after bool) error {
						if !after {
							time.Sleep(by)
						}
						return nil
					})
				}
				slow(from, old.Request.TTL/100)
				slow(to, old.Request.TTL/10)
				_, err := takeover.Take(t.Context(), old, next)
				require.NoError(t, err)
			})
		})
	}
}

// A side whose ticks are long begins with the first tick after the ids of the other.
func TestTakeOfLongTicks(t *testing.T) {
	t.Parallel()
	bits := func(workers, sequence uint8) snowflake.Layout {
		return snowflake.Layout{Epoch: 1577808000000, TimeUnit: time.Second, TimeBits: 39, WorkerBits: workers, SequenceBits: sequence}
	}
	old, _ := opened(t, "orders", bits(2, 8))
	next, _ := opened(t, "orders-2", bits(4, 6))
	_, err := takeover.Take(t.Context(), old, next)
	require.NoError(t, err)
}

// A Take that fails leaves the old side as it was.
func TestTakeRefuses(t *testing.T) {
	t.Parallel()
	type scene struct {
		from, to  *memcenter.Center
		old, next *takeover.Side
	}
	says := func(target error, text string) func(*testing.T, error) {
		return func(t *testing.T, err error) {
			require.ErrorIs(t, err, target)
			require.ErrorContains(t, err, text)
		}
	}
	away := errors.New("away")
	for name, c := range map[string]struct {
		spoil func(t *testing.T, s scene)
		check func(t *testing.T, err error)
	}{
		"another old layout":     {func(_ *testing.T, s scene) { *s.old = side(s.old.Center, "a", wide, 0, 3) }, is[*lease.MismatchError]},
		"another new layout":     {func(_ *testing.T, s scene) { *s.next = side(s.next.Center, "b", narrow, 0, 3) }, is[*lease.MismatchError]},
		"old namespace unknown":  {func(_ *testing.T, s scene) { s.old.Request.Namespace = "c" }, is[*lease.QuarantineError]},
		"new namespace not open": {func(_ *testing.T, s scene) { s.next.Request.Namespace = "c" }, is[*lease.QuarantineError]},
		"old center in quarantine": {func(_ *testing.T, s scene) {
			s.from.Change("a", func(ns rules.Namespace) rules.Namespace { return ns.WithoutMark(1) })
		}, is[*lease.QuarantineError]},
		"new worker id lent": {func(t *testing.T, s scene) {
			req := s.next.Request
			req.First, req.Last = 9, 9
			_, err := s.to.Acquire(t.Context(), req)
			require.NoError(t, err)
		}, func(t *testing.T, err error) {
			live := (*takeover.LiveError)(nil)
			require.ErrorAs(t, err, &live)
			require.Equal(t, []any{"new", int64(9), "shop"}, []any{live.Side, live.Worker, live.Holder})
		}},
		"ids of the new layout below": {func(t *testing.T, s scene) {
			*s.next = side(s.next.Center, "d", snowflake.Layout{TimeBits: 41, WorkerBits: 4, SequenceBits: 3}.WithDefaults(), 0, 3)
			require.NoError(t, s.to.Init(t.Context(), s.next.Request))
		}, says(migrate.ErrNoPlan, "")},
		"old center lost the seal": {func(_ *testing.T, s scene) {
			s.to.Intercept(func(_ context.Context, verb string, after bool) error {
				if verb == "acquire" && !after {
					s.from.Advance(10 * time.Second)
				}
				return nil
			})
		}, says(lease.ErrLost, "could not be kept in the meantime")},
		"clock too far behind for the context": {func(_ *testing.T, s scene) {
			s.to.Advance(-4 * time.Minute)
		}, says(context.DeadlineExceeded, "clock is behind")},
		"center away": {func(_ *testing.T, s scene) {
			s.to.Intercept(func(context.Context, string, bool) error { return away })
		}, says(away, "worker id 0 of the new side: memcenter: acquire: away")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old, from := opened(t, "a", narrow)
			next, to := opened(t, "b", wide)
			c.spoil(t, scene{from, to, &old, &next})
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			r, err := takeover.Take(ctx, old, next)
			require.Error(t, err)
			c.check(t, err)
			require.Zero(t, r)
			slots, err := from.Slots(t.Context(), "a")
			require.NoError(t, err)
			for _, s := range slots {
				require.True(t, s.Holder == "" || s.Expires < s.Now, "the old side lends again")
			}
		})
	}
}

func is[E error](t *testing.T, err error) {
	t.Helper()
	var want E
	require.ErrorAs(t, err, &want)
}
