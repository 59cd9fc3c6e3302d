package redisseq_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/redistest"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/leasetest"
	"github.com/snowlease/snowlease/redisseq"
)

// requireQuarantine requires Acquire to return a quarantine.
func requireQuarantine(t testing.TB, c lease.Center, changes ...func(*lease.Request)) *lease.QuarantineError {
	t.Helper()
	_, err := c.Acquire(t.Context(), request(changes...))
	var q *lease.QuarantineError
	require.ErrorAs(t, err, &q)
	return q
}

func TestEachScriptMayRunTwice(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *store) {
		client := s.Client(t)
		client.AddHook(redistest.Twice{})
		c, err := redisseq.New(client)
		require.NoError(t, err)
		require.NoError(t, c.Extras().Init(t.Context(), request()))
		g := acquire(t, c)
		require.Equal(t, g.Since-1, g.Floor)
		require.Equal(t, g.Since+30_000, g.Ceiling)
		g = renew(t, c, g)

		s.Drop(t, "orders", leasetest.OneMark)
		again := swapped(t, s, c, g) // the second run returns the token of the first
		require.Equal(t, again.Token, renew(t, c, again).Token)
		require.Equal(t, again.Token, renew(t, c, g).Token, "the reply that told the token is lost for good")

		require.ErrorIs(t, c.Release(t.Context(), again, again.Now), lease.ErrLost, "which counts as done")
		slots, err := c.Extras().Lister.Slots(t.Context(), g.Namespace)
		require.NoError(t, err)
		require.Empty(t, slots[g.Worker].Holder)
		require.Equal(t, again.Floor, slots[g.Worker].Mark)
	})
}

// swapped renews g after a loss: it must wait, then it gets another range.
func swapped(t testing.TB, s *store, c lease.Center, g lease.Grant) lease.Grant {
	t.Helper()
	_, err := c.Renew(t.Context(), g)
	var q *lease.QuarantineError
	require.ErrorAs(t, err, &q)
	s.Sleep(q.Wait())
	again := renew(t, c, g)
	require.Equal(t, []any{g.Request, g.Worker, g.Since}, []any{again.Request, again.Worker, again.Since})
	require.Greater(t, again.Token, g.Token)
	require.GreaterOrEqual(t, again.Floor, g.Ceiling)
	return again
}

func TestReleaseAfterASwapWhoseReplyWasLost(t *testing.T) {
	t.Parallel()
	s := newMini(t)
	c := opened(t, s)
	g := acquire(t, c)
	s.Drop(t, "orders", leasetest.OneMark)
	again := swapped(t, s, c, g)
	require.ErrorIs(t, c.Release(t.Context(), g, g.Now), lease.ErrLost)
	slots, err := c.Extras().Lister.Slots(t.Context(), "orders")
	require.NoError(t, err)
	require.Equal(t, again.Ceiling, slots[g.Worker].Mark, "what was lent by it stays")
}

// Grants above a loss, to the millisecond, as in internal/rules.
func TestLendsAboveALoss(t *testing.T) {
	t.Parallel()
	s := newMini(t)
	one := func(r *lease.Request) { r.Pool, r.Last, r.TTL, r.Ahead = 1, 0, 10*time.Second, 29*time.Second }
	c := opened(t, s, one)
	g := acquire(t, c, one)
	s.Sleep(time.Second)
	s.Reincarnate(t)
	_, err := c.Renew(t.Context(), g)
	var q *lease.QuarantineError
	require.ErrorAs(t, err, &q)
	at, top := g.Now+1000, g.Now+33_000
	require.Equal(t, []int64{at, at + 3001}, []int64{q.Now.UnixMilli(), q.Until.UnixMilli()})
	s.Sleep(3 * time.Second)
	_, err = c.Renew(t.Context(), g)
	require.ErrorAs(t, err, &q, "there is nothing to lend")
	require.Contains(t, q.Reason, "changed from")
	require.Equal(t, q.Until, requireQuarantine(t, c, one).Until)

	s.Sleep(time.Millisecond)
	again := renew(t, c, g)
	require.Equal(t, []int64{top, top + 1001, at + 3001, g.Since}, []int64{again.Floor, again.Ceiling, again.Now, again.Since})
	require.Equal(t, at+3002, again.Token)
	slots, err := c.Extras().Lister.Slots(t.Context(), "orders")
	require.NoError(t, err)
	require.Equal(t, []int64{at + 3001 + 10_000, top + 1001}, []int64{slots[0].Expires, slots[0].Mark})

	s.Sleep(time.Second)
	for name, asked := range map[string]lease.Grant{"with the new grant": again, "the reply was lost": g} {
		same := renew(t, c, asked)
		require.Equal(t, []int64{again.Token, top, top + 2001}, []int64{same.Token, same.Floor, same.Ceiling}, name)
	}
	same, err := c.Acquire(t.Context(), g.Request)
	require.NoError(t, err)
	require.Equal(t, []int64{again.Token, top, top + 2001}, []int64{same.Token, same.Floor, same.Ceiling})
	forged := again
	forged.Token++
	_, err = c.Renew(t.Context(), forged)
	require.ErrorIs(t, err, lease.ErrLost)

	// The clock catches up: TTL above the floor, then TTL above the clock.
	s.Sleep(8 * time.Second)
	require.Equal(t, top+10_000, renew(t, c, again).Ceiling)
	for range 4 {
		s.Sleep(8 * time.Second)
		again = renew(t, c, again)
	}
	require.Equal(t, []int64{top, again.Now + 10_000}, []int64{again.Floor, again.Ceiling})
}

// With exact times, nothing is lent before the clock has passed the lost grants.
func TestExactTimes(t *testing.T) {
	t.Parallel()
	s := newMini(t)
	exact := func(r *lease.Request) { r.Ahead = 0 }
	c := opened(t, s, exact)
	acquire(t, c, exact)
	s.Drop(t, "orders", leasetest.OneMark)
	q := requireQuarantine(t, c, exact)
	require.Equal(t, 32*time.Second+time.Millisecond, q.Wait())
	s.Sleep(q.Wait())
	g := acquire(t, c, exact)
	require.Equal(t, g.Now-1, g.Floor)
}

// A repeated Acquire does not return a grant whose mark was lost.
func TestRepeatedWithoutItsMark(t *testing.T) {
	t.Parallel()
	s := newMini(t)
	c := opened(t, s, pool(1))
	g := acquire(t, c, pool(1))
	s.Drop(t, "orders", leasetest.OneMark)
	s.Sleep(requireQuarantine(t, c, pool(1)).Wait())
	_, err := c.Acquire(t.Context(), g.Request)
	require.ErrorAs(t, err, new(*lease.NoFreeWorkerError))
}

// Acquire finds a free worker id, or the time of the first one, among many whose marks are
// too far ahead.
func TestMarksAhead(t *testing.T) {
	t.Parallel()
	s := newReal(t)
	const n = 3000
	c := opened(t, s, pool(n))
	slots, err := c.Extras().Lister.Slots(t.Context(), "orders")
	require.NoError(t, err)
	now, k := slots[0].Now, keys("orders")
	ahead := request().Ahead.Milliseconds()
	set := func(worker, expires, mark int64) {
		require.NoError(t, s.Admin.ZAdd(t.Context(), k[0], redis.Z{Score: float64(expires), Member: worker}).Err())
		require.NoError(t, s.Admin.HSet(t.Context(), k[1], worker, mark).Err())
	}
	_, err = s.Admin.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for w := range int64(n) {
			p.ZAdd(t.Context(), k[0], redis.Z{Score: float64(now - 2*n + w), Member: w})
			p.HSet(t.Context(), k[1], w, now+ahead+600_000)
		}
		return p.HSet(t.Context(), k[3], "quar", now+20_000).Err() // while ranges begin ahead
	})
	require.NoError(t, err)
	soonest := func(want int64) {
		t.Helper()
		_, err := c.Acquire(t.Context(), request(pool(n)))
		var full *lease.NoFreeWorkerError
		require.ErrorAs(t, err, &full)
		require.Equal(t, want, full.Soonest.UnixMilli())
	}
	soonest(now + 600_001)
	set(2000, now-n, now+ahead+500_000)
	soonest(now + 500_001)
	set(10, now+400_000, now) // a running lease
	soonest(now + 400_001)
	set(2999, now-1, now+ahead-1)
	g := acquire(t, c, pool(n))
	require.Equal(t, []int64{2999, now + ahead - 1}, []int64{g.Worker, g.Floor})
	require.LessOrEqual(t, g.Ceiling, g.Now+30_000)
}

func TestClockThatStepsBack(t *testing.T) {
	t.Parallel()
	s := newMini(t)
	c := opened(t, s)
	g := acquire(t, c)
	require.NoError(t, c.Release(t.Context(), g, g.Ceiling))
	s.Sleep(-10 * time.Second)
	for range 3 {
		require.NotEqual(t, g.Worker, acquire(t, c).Worker)
	}
	s.Wipe(t)
	first := requireQuarantine(t, c)
	s.Sleep(-10 * time.Second)
	s.Drop(t, "orders", leasetest.OneMark)
	again := requireQuarantine(t, c)
	require.Equal(t, first.Until, again.Until, "a quarantine that runs is not cut short")
	require.Contains(t, again.Reason, "of 4 leases 0, marks 1, owners 0")
}

func TestRetriedAcquireReturnsTheFirstFloor(t *testing.T) {
	t.Parallel()
	s := newMini(t)
	c := opened(t, s)
	req := request()
	first, err := c.Acquire(t.Context(), req)
	require.NoError(t, err)
	s.Sleep(time.Second)
	second, err := c.Acquire(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, first.Now+1000, second.Now)
	second.Now = first.Now
	require.Equal(t, first, second)
}

func TestKeysLostInAnyCombination(t *testing.T) {
	t.Parallel()
	s := newMini(t)
	for lost := 1; lost < 16; lost++ {
		ns := fmt.Sprint("lost-", lost)
		in := func(r *lease.Request) { r.Namespace = ns }
		c := opened(t, s, in)
		g := acquire(t, c, in)
		released := acquire(t, c, in)
		require.NoError(t, c.Release(t.Context(), released, released.Now))
		var gone []string
		for i, key := range keys(ns) {
			if lost>>i&1 == 1 {
				gone = append(gone, key)
			}
		}
		require.NoError(t, s.Admin.Del(t.Context(), gone...).Err())

		q := requireQuarantine(t, c, in)
		require.Equal(t, 2251*time.Millisecond, q.Wait(), gone)
		require.NotEmpty(t, q.Reason)
		next := map[int64]lease.Grant{}
		if lost&5 == 0 { // neither leases nor owners
			next[g.Worker] = swapped(t, s, c, g)
		} else {
			_, err := c.Renew(t.Context(), g)
			require.ErrorIs(t, err, lease.ErrLost)
			s.Sleep(q.Wait())
		}
		var full *lease.NoFreeWorkerError
		for {
			g, err := c.Acquire(t.Context(), request(in))
			if errors.As(err, &full) {
				break
			}
			require.NoError(t, err)
			require.NotContains(t, next, g.Worker, gone)
			next[g.Worker] = g
		}
		if lost&5 == 4 {
			require.NotContains(t, next, g.Worker, "its lease runs, whoever has it")
			next[g.Worker] = lease.Grant{Floor: horizon(q)}
		}
		require.Len(t, next, 4, gone)
		for _, g := range next {
			require.Equal(t, horizon(q), g.Floor)
		}
		require.NoError(t, s.Admin.FlushAll(t.Context()).Err())
	}
}

func TestWipeWithMixedTTLs(t *testing.T) {
	t.Parallel()
	s := newMini(t)
	c := opened(t, s)
	acquire(t, c)
	s.Wipe(t)
	q := requireQuarantine(t, c, func(r *lease.Request) { r.TTL = 5 * time.Second })
	require.Equal(t, 2251*time.Millisecond, q.Wait(), "by MaxTTL and skew, whatever the newcomer's own TTL is")
}

func TestRestartToStaleDataAndTheHolderRenewsFirst(t *testing.T) {
	t.Parallel()
	s := newMini(t)
	c := opened(t, s)
	restore := s.Snapshot(t)
	g := acquire(t, c)
	restore()
	s.Reincarnate(t)
	_, err := c.Renew(t.Context(), g)
	require.ErrorIs(t, err, lease.ErrLost)
	q := requireQuarantine(t, c)
	require.Greater(t, horizon(q), g.Ceiling)
	require.Contains(t, q.Reason, fmt.Sprintf("changed from %040x/%040[1]x to %040x/%040[1]x", 1, 2))
}

func TestIncarnationThatFlips(t *testing.T) {
	t.Parallel()
	s := newMini(t)
	c := opened(t, s)
	s.Reincarnate(t)
	require.Contains(t, requireQuarantine(t, c).Reason, "changed from")
	s.Run.Add(-1)
	s.Sleep(time.Second)
	q := requireQuarantine(t, c)
	require.Contains(t, q.Reason, "flips between")
	require.Contains(t, q.Reason, "quarantine: never")
	require.Equal(t, 2251*time.Millisecond, q.Wait(), "and still nothing is lent")
}

func TestReleaseIsHeldWithinTheGrant(t *testing.T) {
	t.Parallel()
	s := newMini(t)
	c := opened(t, s, pool(1))
	for _, lastUsed := range []int64{-1, 0, 1 << 62} {
		g := acquire(t, c, pool(1))
		require.NoError(t, c.Release(t.Context(), g, lastUsed))
		slots, err := c.Extras().Lister.Slots(t.Context(), g.Namespace)
		require.NoError(t, err)
		require.Equal(t, min(max(lastUsed, g.Floor), g.Ceiling), slots[0].Mark)
		s.Sleep(time.Duration(slots[0].Mark-slots[0].Now+1) * time.Millisecond)
	}
}

func TestPoolLowered(t *testing.T) {
	t.Parallel()
	s := newMini(t)
	c := opened(t, s)
	_, err := c.Acquire(t.Context(), request(pool(2)))
	var m *lease.MismatchError
	require.ErrorAs(t, err, &m)
	require.Contains(t, m.Stored.String(), "pool=4")
	require.Contains(t, m.Asked.String(), "pool=2")

	// Without the pin, the records still show the other pool.
	require.NoError(t, s.Admin.Del(t.Context(), keys("orders")[3]).Err())
	_, err = c.Acquire(t.Context(), request(pool(2)))
	require.ErrorIs(t, err, lease.ErrDamaged)
}

func TestClockFarOffWritesNothing(t *testing.T) {
	t.Parallel()
	s := newMini(t)
	for _, off := range []time.Duration{time.Hour, -time.Hour} {
		req := request(func(r *lease.Request) { r.Local = time.Now().Add(off).UnixMilli() })
		_, err := s.center(t).Acquire(t.Context(), req)
		require.ErrorAs(t, err, new(*lease.ClockError))
		require.ErrorAs(t, s.center(t).Extras().Init(t.Context(), req), new(*lease.ClockError))
	}
	require.Zero(t, s.Admin.DBSize(t.Context()).Val())
}

func TestHolderUnrenewedTooLongAcrossARestart(t *testing.T) {
	t.Parallel()
	s := newMini(t)
	c := opened(t, s)
	g := acquire(t, c)
	s.Sleep(28*time.Second + time.Millisecond) // less than the skew is left
	s.Reincarnate(t)
	_, err := c.Renew(t.Context(), g)
	require.ErrorIs(t, err, lease.ErrLost)
	requireQuarantine(t, c)
	s.Sleep(32*time.Second + time.Millisecond)
	acquire(t, c)
}

func TestRecordOfAnOwnerThatOthersTookOver(t *testing.T) {
	t.Parallel()
	s := newMini(t)
	c := opened(t, s, pool(2))
	req := request(pool(2))
	old, err := c.Acquire(t.Context(), req)
	require.NoError(t, err)
	s.Sleep(31 * time.Second)
	mine, err := c.Acquire(t.Context(), req) // the same owner, after its first grant has expired
	require.NoError(t, err)
	require.NotEqual(t, old.Worker, mine.Worker)
	other := acquire(t, c, pool(2))
	require.Equal(t, old.Worker, other.Worker)
	again, err := c.Acquire(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, mine.Worker, again.Worker)
	_, err = c.Renew(t.Context(), old)
	require.ErrorIs(t, err, lease.ErrLost)
}

// TestDamage is about what only the keys of Redis can have: names that are none, other types.
func TestDamage(t *testing.T) {
	t.Parallel()
	s := newMini(t)
	ctx, k := t.Context(), keys("orders")
	for name, harm := range map[string]func() error{
		"member": func() error { return s.Admin.ZAdd(ctx, k[0], redis.Z{Score: 0, Member: "x"}).Err() },
		"member replaced": func() error {
			return redis.NewScript("redis.call('ZREM', KEYS[1], '0') return redis.call('ZADD', KEYS[1], 0, '00')").Run(ctx, s.Admin, k).Err()
		},
		"member in excess": func() error { return s.Admin.ZAdd(ctx, k[0], redis.Z{Score: 0, Member: "4"}).Err() },
		"mark in excess":   func() error { return s.Admin.HSet(ctx, k[1], "x", "1").Err() },
		"mark replaced": func() error {
			return redis.NewScript("redis.call('HDEL', KEYS[2], '0') return redis.call('HSET', KEYS[2], 'x', 0)").Run(ctx, s.Admin, k).Err()
		},
		"owner":           func() error { return s.Admin.HSet(ctx, k[2], "0", "me\r\n>\xff").Err() },
		"owner in excess": func() error { return s.Admin.HSet(ctx, k[2], "x", "").Err() },
		"lease is a hash": func() error {
			return redis.NewScript("redis.call('DEL', KEYS[1]) return redis.call('HSET', KEYS[1], 'a', 'b')").Run(ctx, s.Admin, k).Err()
		},
		"mark is a zset": func() error {
			return redis.NewScript("redis.call('DEL', KEYS[2]) return redis.call('ZADD', KEYS[2], 1, 'b')").Run(ctx, s.Admin, k).Err()
		},
		"owner is a list": func() error {
			return redis.NewScript("redis.call('DEL', KEYS[3]) return redis.call('LPUSH', KEYS[3], 'b')").Run(ctx, s.Admin, k).Err()
		},
		"meta is a value": func() error { return s.Admin.Set(ctx, k[3], "orders", 0).Err() },
	} {
		t.Run(name, func(t *testing.T) {
			s.Wipe(t)
			c := opened(t, s, pool(4))
			require.NoError(t, harm())
			before := s.Records(t)
			g2, err := c.Acquire(ctx, request(func(r *lease.Request) { r.Last = 0 }))
			require.ErrorIs(t, err, lease.ErrDamaged)
			require.Zero(t, g2)
			require.Contains(t, err.Error(), "delete all four")
			require.Contains(t, err.Error(), s.Addr)
			require.Less(t, len(err.Error()), 900)
			require.Equal(t, before, s.Records(t), "nothing was changed")

			require.ErrorIs(t, c.Extras().Init(ctx, request()), lease.ErrExists)
		})
	}
}

// TestInitInSteps: Init creates a large pool in steps. Between two of them others lend, and
// records are lost. Init does not hide that.
func TestInitInSteps(t *testing.T) {
	t.Parallel()
	last := func(r *lease.Request) { r.Pool, r.First, r.Last = 9000, 8999, 8999 }
	for name, lose := range map[string]func(*store) error{
		"all":      func(s *store) error { return s.Admin.Del(t.Context(), keys("orders")...).Err() },
		"but meta": func(s *store) error { return s.Admin.Del(t.Context(), keys("orders")[:3]...).Err() },
		"a worker id": func(s *store) error {
			k := keys("orders")
			return errors.Join(s.Admin.ZRem(t.Context(), k[0], "8999").Err(), s.Admin.HDel(t.Context(), k[1], "8999").Err(), s.Admin.HDel(t.Context(), k[2], "8999").Err())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newMini(t)
			other := s.center(t)
			var held lease.Grant
			client := s.Client(t)
			client.AddHook(&afterAStep{do: func() {
				s.Sleep(requireQuarantine(t, other, last).Wait())
				held = acquire(t, other, last)
				require.NoError(t, lose(s))
			}})
			c, err := redisseq.New(client)
			require.NoError(t, err)
			if err := c.Extras().Init(t.Context(), request(last)); err != nil {
				require.ErrorIs(t, err, lease.ErrExists)
			}
			s.Sleep(requireQuarantine(t, other, last).Wait())
			require.GreaterOrEqual(t, acquire(t, other, last).Floor, held.Ceiling)
		})
	}
}

// afterAStep runs do once, after the first reply that asks for another step.
type afterAStep struct {
	redis.Hook
	do func()
}

func (*afterAStep) DialHook(next redis.DialHook) redis.DialHook { return next }

func (*afterAStep) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *afterAStep) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if script, ok := cmd.(*redis.Cmd); ok && h.do != nil && fmt.Sprint(script.Val()) == "[MORE]" {
			do := h.do
			h.do = nil
			do()
		}
		return err
	}
}
