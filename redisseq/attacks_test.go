package redisseq_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
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
		c, err := open(t, s.Client(t))
		require.NoError(t, err)
		redisseq.Client(c).AddHook(redistest.Twice())
		require.NoError(t, c.Extras().Init(t.Context(), request()))
		g := acquire(t, c)
		require.Equal(t, g.Since-1, g.Floor)
		require.Equal(t, g.Since+600_000, g.Ceiling)
		g = renew(t, c, g)

		s.Drop(t, "orders", leasetest.OneMark)
		again := swapped(t, s, c, g) // the second run returns the token of the first
		require.Equal(t, again.Token, renew(t, c, again).Token)
		require.Equal(t, again.Token, renew(t, c, g).Token, "the reply that told the token is lost for good")

		require.NoError(t, c.Release(t.Context(), again, again.Now))
		slots, err := c.Extras().Lister.Slots(t.Context(), g.Namespace)
		require.NoError(t, err)
		require.Empty(t, slots[g.Worker].Holder)
		require.Equal(t, again.Floor, slots[g.Worker].HighWater)
	})
}

// needsLess makes a request that is not lent a worker id in one step, since the pin is another.
func needsLess(r *lease.Request) { r.Skew = time.Second }

// TestSwapComparesWhatWasLoaded: what changes between the two calls of a borrow is seen by the
// second, which then changes nothing.
func TestSwapComparesWhatWasLoaded(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]string{
		"pin":         "redis.call('HSET', KEYS[4], 'pin', (string.gsub(redis.call('HGET', KEYS[4], 'pin'), 'max_ttl=10m0s', 'max_ttl=11m0s')))",
		"quarantine":  "redis.call('HSET', KEYS[4], 'quar', '7')",
		"lease":       "redis.call('ZADD', KEYS[1], 7000000, '0')",
		"mark":        "redis.call('HSET', KEYS[2], '0', '7')",
		"owner":       "redis.call('HSET', KEYS[3], '0', '0|7|0|0|')",
		"incarnation": "restart",
		"clock":       "back",
		"pause":       "pause",
		"nothing":     "local none",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newMini(t)
			c := opened(t, s)
			_, _ = c.Acquire(t.Context(), request(named("other"))) // the server knows the scripts
			calls := 0
			redisseq.Client(c).AddHook(redistest.Hook(func(_ []redis.Cmder, call func() error) error {
				if calls++; calls != 3 {
					return call()
				}
				switch harm {
				case "restart":
					s.Reincarnate(t)
				case "back":
					s.Sleep(-time.Second)
				case "pause":
					s.Sleep(11 * time.Second)
				default:
					assert.NoError(t, redis.NewScript(harm+" return 1").Run(t.Context(), s.Admin, keys("orders")).Err())
				}
				before := s.Records(t)
				err := call()
				assert.Equal(t, name != "nothing", reflect.DeepEqual(before, s.Records(t)))
				return err
			}))
			_, _ = c.Acquire(t.Context(), request(needsLess, func(r *lease.Request) { r.Last = 0 }))
			require.Greater(t, calls, 2)
		})
	}
}

// TestLostRaceFindsWhatElseIsFree: whoever loses a race for one of two free worker ids is lent the
// other, though all the rest are in use.
func TestLostRaceFindsWhatElseIsFree(t *testing.T) {
	t.Parallel()
	for i := range 8 {
		s, many := newMini(t), pool(40)
		c, other := opened(t, s, many), s.center(t)
		var lent []lease.Grant
		for range 40 {
			lent = append(lent, acquire(t, other, many))
		}
		for _, g := range []lease.Grant{lent[10], lent[30]} {
			require.NoError(t, other.Release(t.Context(), g, g.Floor))
		}
		s.Sleep(time.Second)
		_, _ = c.Acquire(t.Context(), request(named("other"))) // the server knows the scripts
		calls := 0
		redisseq.Client(c).AddHook(redistest.Hook(func(_ []redis.Cmder, call func() error) error {
			if calls++; calls == 3 {
				g, err := other.Acquire(t.Context(), request(many))
				assert.NoError(t, err)
				assert.EqualValues(t, 10, g.Worker)
			}
			return call()
		}))
		require.EqualValues(t, 30, acquire(t, c, many, needsLess, func(r *lease.Request) { r.Holder = fmt.Sprint("app@host:", i) }).Worker)
	}
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
	s, ns := newShared(t)
	const n = 3000
	all := func(r *lease.Request) { r.Namespace, r.Pool, r.Last = ns, n, n-1 }
	c := opened(t, s, all)
	slots, err := c.Extras().Lister.Slots(t.Context(), ns)
	require.NoError(t, err)
	now, k := slots[0].Now, keys(ns)
	ahead := request().MaxLead.Milliseconds()
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
		_, err := c.Acquire(t.Context(), request(all))
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
	g := acquire(t, c, all)
	require.Equal(t, []int64{2999, now + ahead - 1}, []int64{g.Worker, g.Floor})
	require.LessOrEqual(t, g.Ceiling, g.Now+600_000)
}

func TestKeysLostInAnyCombination(t *testing.T) {
	t.Parallel()
	s := newMini(t)
	for lost := 1; lost < 16; lost++ {
		ns := fmt.Sprint("lost-", lost)
		in := named(ns)
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
		if lost < 15 {
			require.ErrorIs(t, s.center(t).Extras().Init(t.Context(), request(in)), lease.ErrExists, gone)
		}

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
	c, key := opened(t, s), keys("orders")
	require.NoError(t, c.Extras().Operator.Retire(t.Context(), "orders", "moved"))
	for _, lost := range [][2]string{{key[3], "quar"}, {key[1], "hold"}, {key[2], "hold"}} {
		require.NoError(t, s.Admin.HDel(t.Context(), lost[0], lost[1]).Err())
		_, err := c.Acquire(t.Context(), request())
		require.ErrorAs(t, err, new(*lease.MismatchError), "retired, without %v", lost)
	}
}

// TestDamage is about what only the keys of Redis can have: names that are none, other types. The
// rest is a promise of leasetest.
func TestDamage(t *testing.T) {
	t.Parallel()
	s := newMini(t)
	ctx, k := t.Context(), keys("orders")
	harms := map[string]string{
		"another member":   "redis.call('ZREM', KEYS[1], '0') redis.call('ZADD', KEYS[1], 0, '00')",
		"member in excess": "redis.call('ZADD', KEYS[1], 0, '4')",
		"another mark":     "redis.call('HDEL', KEYS[2], '0') redis.call('HSET', KEYS[2], 'x', 0)",
		"mark in excess":   "redis.call('HSET', KEYS[2], 'x', 0)",
		"owner":            `redis.call('HSET', KEYS[3], '0', '\27[2J\r\n' .. string.rep('A', 1048576))`,
		"owner in excess":  "redis.call('HSET', KEYS[3], 'x', '')",
	}
	for i, key := range []string{"lease", "mark", "owner", "meta"} {
		harms[key+" is a list"] = fmt.Sprintf("redis.call('DEL', KEYS[%d]) redis.call('LPUSH', KEYS[%[1]d], 'b')", i+1)
	}
	for name, harm := range harms {
		t.Run(name, func(t *testing.T) {
			s.Wipe(t)
			c := opened(t, s)
			require.NoError(t, redis.NewScript(harm+" return 1").Run(ctx, s.Admin, k).Err())
			before := s.Records(t)
			g, err := c.Acquire(ctx, request(func(r *lease.Request) { r.Last = 0 }))
			require.ErrorIs(t, err, lease.ErrDamaged)
			require.Zero(t, g)
			require.ErrorContains(t, err, "delete all four")
			require.ErrorContains(t, err, s.Addr)
			require.Less(t, len(err.Error()), 900)
			require.False(t, strings.ContainsFunc(err.Error(), unicode.IsControl), "%q", err)
			require.Equal(t, before, s.Records(t), "nothing was changed")
			require.Error(t, c.Extras().Init(ctx, request()))
		})
	}
}

// TestLossBesideAFreeWorkerID: a borrow that could be lent one notices what another one has lost.
func TestLossBesideAFreeWorkerID(t *testing.T) {
	t.Parallel()
	s := newMini(t)
	for i := range 3 {
		in := named(fmt.Sprint("beside-", i))
		c := opened(t, s, in)
		acquire(t, c, in)
		if key := keys(fmt.Sprint("beside-", i))[i]; i == 0 {
			require.NoError(t, s.Admin.ZRem(t.Context(), key, "0").Err())
		} else {
			require.NoError(t, s.Admin.HDel(t.Context(), key, "0").Err())
		}
		require.NotEmpty(t, requireQuarantine(t, c, in).Reason)
	}
}

// TestRenewalOfADamagedMark: the script that renews reads numbers too.
func TestRenewalOfADamagedMark(t *testing.T) {
	t.Parallel()
	s := newMini(t)
	c := opened(t, s)
	g := acquire(t, c)
	require.NoError(t, s.Admin.HSet(t.Context(), keys("orders")[1], g.Worker, "0x7fffffff").Err())
	_, err := c.Renew(t.Context(), g)
	require.ErrorIs(t, err, lease.ErrDamaged)
}

// TestInitInSteps: Init creates a large pool in steps. Between two of them others lend, and
// records are lost. Init does not hide that.
func TestInitInSteps(t *testing.T) {
	t.Parallel()
	last := func(r *lease.Request) { r.Pool, r.First, r.Last = 9000, 8999, 8999 }
	for name, loss := range map[string]string{
		"all":         "redis.call('DEL', unpack(KEYS))",
		"but meta":    "redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])",
		"a worker id": "redis.call('ZREM', KEYS[1], '8999') redis.call('HDEL', KEYS[2], '8999') redis.call('HDEL', KEYS[3], '8999')",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newMini(t)
			other := s.center(t)
			var held lease.Grant
			c, err := open(t, s.Client(t))
			require.NoError(t, err)
			lost := false
			redisseq.Client(c).AddHook(redistest.Hook(func(cmds []redis.Cmder, call func() error) error {
				err := call()
				// The client repeats a first step whose reply is late, and the center goes on with the second one.
				if step, ok := cmds[0].(*redis.Cmd); !ok || lost || !slices.Contains([]string{"[OK 4096 4097 4097]", "[OK 8192 8193 8193]"}, fmt.Sprint(step.Val())) {
					return err
				}
				lost = true
				s.Sleep(requireQuarantine(t, other, last).Wait())
				held = acquire(t, other, last)
				return redis.NewScript(loss+" return 1").Run(t.Context(), s.Admin, keys("orders")).Err()
			}))
			require.ErrorIs(t, c.Extras().Init(t.Context(), request(last)), lease.ErrExists)
			s.Sleep(requireQuarantine(t, other, last).Wait())
			require.GreaterOrEqual(t, acquire(t, other, last).Floor, held.Ceiling)
		})
	}
}

// TestApplicationSelectsADatabase: a connection on which the application has chosen another
// database shows no second, empty namespace, and stays where the application put it.
func TestApplicationSelectsADatabase(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *store) {
		for _, db := range []int{0, 3} {
			client := redis.NewClient(&redis.Options{Addr: s.Addr, DB: db, PoolSize: 1})
			t.Cleanup(func() { _ = client.Close() })
			c, err := open(t, client)
			require.NoError(t, err)
			require.NoError(t, c.Extras().Init(t.Context(), request(pool(1))))
			g := acquire(t, c, pool(1))

			require.NoError(t, client.Do(t.Context(), "SELECT", 5).Err())
			_, err = c.Acquire(t.Context(), request(pool(1)))
			require.ErrorAs(t, err, new(*lease.NoFreeWorkerError))
			_, err = c.Renew(t.Context(), g)
			require.NoError(t, err)
			slots, err := c.Extras().Lister.Slots(t.Context(), g.Namespace)
			require.NoError(t, err)
			require.Len(t, slots, 1)
			require.NoError(t, c.Release(t.Context(), g, g.Floor))
			require.Zero(t, client.DBSize(t.Context()).Val(), "the application is still in its database, which is empty")
		}
	})
}
