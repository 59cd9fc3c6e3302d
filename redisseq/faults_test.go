//go:build prove

package redisseq_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/internal/redisnumbers"
	"github.com/snowlease/snowlease/internal/test/redistest"
	"github.com/snowlease/snowlease/internal/test/segmentcheck"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers"
	"github.com/snowlease/snowlease/redisseq"
)

// Tests on real servers.

// TestUserWithoutInfo: a server whose incarnation is unknown lends nothing and renews nothing, also
// if it returns with an old dump.
func TestUserWithoutInfo(t *testing.T) {
	t.Parallel()
	s, srv := startReal(t)
	deny := func() { user(t, s, ">secret", "~snowlease:*", "+@all", "-info") }
	deny()
	client := redis.NewClient(&redis.Options{Addr: s.Addr, Username: "app", Password: "secret"})
	t.Cleanup(func() { _ = client.Close() })
	c, err := open(t, client)
	require.NoError(t, err)
	refused := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, redisseq.ErrRunID)
		require.ErrorContains(t, err, "+info")
		require.ErrorContains(t, err, "durable: true")
		require.NotContains(t, err.Error(), "secret")
	}
	refused(c.Extras().Init(t.Context(), request()))
	_, err = c.Acquire(t.Context(), request())
	refused(err)
	require.Zero(t, s.Admin.DBSize(t.Context()).Val())

	g := acquire(t, opened(t, s))
	require.NoError(t, s.Admin.Save(t.Context()).Err())
	srv.Kill()
	srv.Start()
	deny()
	_, err = c.Renew(t.Context(), g)
	refused(err)
	refused(c.Release(t.Context(), g, g.Now))

	c, err = open(t, client, redisseq.WithDurable(true))
	require.NoError(t, err)
	renew(t, c, g)
	acquire(t, c)
}

// TestMemoryLimit: renewals and grants continue at the limit. Evicted keys start a quarantine.
func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	s := newReal(t)
	c := opened(t, s)
	set := func(name, value string) { require.NoError(t, s.Admin.ConfigSet(t.Context(), name, value).Err()) }
	for _, policy := range []string{"noeviction", "volatile-ttl"} {
		set("maxmemory-policy", policy)
		set("maxmemory", "1")
		require.ErrorContains(t, s.Admin.Set(t.Context(), "k", "v", 0).Err(), "OOM")
		g := renew(t, c, acquire(t, c))
		require.NoError(t, c.Release(t.Context(), g, g.Now))
	}
	acquire(t, c)
	set("maxmemory-policy", "allkeys-lru")
	require.Eventually(t, func() bool {
		s.Admin.Set(t.Context(), "k", "v", 0)
		return s.Admin.Exists(t.Context(), keys("orders")...).Val() < 4
	}, 10*time.Second, time.Millisecond)
	set("maxmemory", "0")
	q := requireQuarantine(t, c)
	s.Sleep(q.Wait())
	for range 3 { // the fourth worker id may be the holder's
		require.Equal(t, horizon(q), acquire(t, c).Floor)
	}
}

func TestKeysHaveNoTTL(t *testing.T) {
	t.Parallel()
	s := newMini(t)
	c := opened(t, s)
	g := acquire(t, c)
	for range 2 {
		for _, key := range keys("orders") {
			require.Equal(t, time.Duration(-1), s.Admin.TTL(t.Context(), key).Val(), "a TTL set by others does not stay")
			require.NoError(t, s.Admin.Expire(t.Context(), key, time.Hour).Err())
		}
		g = renew(t, c, g)
	}
}

// TestServerThatHangs: a call returns when its context ends, though go-redis does not.
func TestServerThatHangs(t *testing.T) {
	t.Parallel()
	s, srv := startReal(t)
	c := opened(t, s)
	g := acquire(t, c)
	srv.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := c.Renew(ctx, g)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	require.ErrorIs(t, c.Release(ctx, g, g.Now), context.Canceled, "the end of a context without a deadline counts too")
	srv.Resume()
	// The canceled call may have taken effect, as after a lost reply.
	if err := c.Release(t.Context(), g, g.Now); err != nil {
		require.ErrorIs(t, err, lease.ErrLost)
	}
}

// TestServerTakesNoWrites: a replica, and a master with too few replicas, refuse each call. The
// lease continues afterwards.
func TestServerTakesNoWrites(t *testing.T) {
	t.Parallel()
	s := newReal(t)
	c := opened(t, s)
	g := acquire(t, c)
	require.NoError(t, s.Admin.ReplicaOf(t.Context(), "127.0.0.1", "1").Err())
	is := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, redisseq.ErrReplica)
	}
	_, err := c.Acquire(t.Context(), request())
	is(err)
	_, err = c.Renew(t.Context(), g)
	is(err)
	forged := g
	forged.Token++ // a lagging replica must not say that a grant is lost
	_, err = c.Renew(t.Context(), forged)
	is(err)
	is(c.Release(t.Context(), g, g.Now))
	is(c.Extras().Init(t.Context(), request(named("new"))))
	require.NoError(t, s.Admin.ReplicaOf(t.Context(), "NO", "ONE").Err())
	g = renewSoon(t, c, g)

	require.NoError(t, s.Admin.ConfigSet(t.Context(), "min-replicas-to-write", "1").Err())
	_, err = c.Renew(t.Context(), g)
	require.ErrorContains(t, err, "NOREPLICAS")
	require.NoError(t, s.Admin.ConfigSet(t.Context(), "min-replicas-to-write", "0").Err())
	renew(t, c, g)
}

func TestBigPool(t *testing.T) {
	t.Parallel()
	s, ns := newShared(t)
	const n = 20_000
	within := func(first, last int64) func(*lease.Request) {
		return func(r *lease.Request) { r.Namespace, r.Pool, r.First, r.Last = ns, n, first, last }
	}
	all, upper, one := within(0, n-1), within(n-2, n-1), within(1100, 1100)
	c := opened(t, s, all)
	g := acquire(t, c, all)
	require.EqualValues(t, n-2, acquire(t, c, upper).Worker)
	require.EqualValues(t, n-1, acquire(t, c, upper).Worker)
	_, err := c.Acquire(t.Context(), request(upper))
	require.ErrorAs(t, err, new(*lease.NoFreeWorkerError))
	// Used workers come after those never lent. The sweep finds one behind many others.
	var o lease.Grant
	for range 1100 {
		o = acquire(t, c, all)
		require.NoError(t, c.Release(t.Context(), o, o.Floor))
	}
	// What an owner holds, or has given back, is found wherever it is.
	_, err = c.Acquire(t.Context(), o.Request)
	require.ErrorIs(t, err, lease.ErrLost)
	far := acquire(t, c, all)
	require.EqualValues(t, 1101, far.Worker)
	same, err := c.Acquire(t.Context(), far.Request)
	require.NoError(t, err)
	require.Equal(t, []int64{far.Worker, far.Token}, []int64{same.Worker, same.Token})
	require.EqualValues(t, 1100, acquire(t, c, one).Worker)
	_, err = c.Acquire(t.Context(), request(one))
	require.ErrorAs(t, err, new(*lease.NoFreeWorkerError))
	// Lost records are created in steps.
	require.NoError(t, s.Admin.Del(t.Context(), keys(ns)[1]).Err())
	_, err = c.Renew(t.Context(), g)
	var q *lease.QuarantineError
	require.ErrorAs(t, err, &q)
	require.Contains(t, q.Reason, "20000 of 20000 marks were missing")
	require.EqualValues(t, n+1, s.Admin.HLen(t.Context(), keys(ns)[1]).Val(), "with the field hold; else each renewal finds a loss")
	g = renewSoon(t, c, g)
	slots, err := c.Extras().Lister.Slots(t.Context(), ns)
	require.NoError(t, err)
	require.Len(t, slots, n)
	require.Equal(t, g.Ceiling, slots[g.Worker].HighWater)
	require.Equal(t, g.Holder, slots[g.Worker].Holder)
	require.EqualValues(t, n+1, s.Admin.HLen(t.Context(), keys(ns)[2]).Val())
}

// TestCluster: the keys of a namespace are in one hash slot. Another master of the slot is another
// incarnation, whether the slot has moved or the master has died with a grant that its replica may
// not have. Clients with default settings continue.
func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := testserver.NewCluster(t)
	client := redistest.ClusterClient(t, cluster)
	plain, err := open(t, client)
	require.NoError(t, err)
	require.Contains(t, plain.Extras().Name, "redis cluster 127.0.0.1:")
	waits, err := open(t, client, redisseq.WithWaitReplicas(1, 2*time.Second))
	require.NoError(t, err)

	masters := map[*testserver.Server]bool{}
	for _, ns := range []string{"a", "b", "c", "d", "e"} {
		require.NoError(t, plain.Extras().Init(t.Context(), request(named(ns))))
		g := renew(t, plain, acquire(t, plain, named(ns)))
		require.NoError(t, plain.Release(t.Context(), g, g.Now))
		slots, err := plain.Extras().Lister.Slots(t.Context(), ns)
		require.NoError(t, err)
		require.Len(t, slots, 4)
		slot := client.ClusterKeySlot(t.Context(), keys(ns)[0]).Val()
		for _, key := range keys(ns) {
			require.Equal(t, slot, client.ClusterKeySlot(t.Context(), key).Val())
			require.EqualValues(t, 1, client.Exists(t.Context(), key).Val())
		}
		masters[cluster.Master(keys(ns)[0])] = true
	}
	require.Greater(t, len(masters), 1, "namespaces spread over the masters")

	for ns, c := range map[string]lease.Center{"moves": plain, "moves-with-WAIT": waits} {
		in := func(r *lease.Request) { ttl(8 * time.Second)(r); r.Namespace = ns }
		require.NoError(t, c.Extras().Init(t.Context(), request(in)))
		g := acquire(t, c, in)
		from, to := cluster.Master(keys(ns)[0]), cluster.Nodes[0]
		if from == to {
			to = cluster.Nodes[1]
		}
		cluster.Move(keys(ns)[0], to, func() {
			_, err := c.Renew(t.Context(), g) // redirected by ASK
			require.ErrorAs(t, err, new(*lease.QuarantineError))
			require.Contains(t, requireQuarantine(t, c, in).Reason, "incarnation of the store changed")
		})
		require.Greater(t, renewSoon(t, c, g).Floor, g.Ceiling) // redirected by MOVED
		for range 3 {
			require.Greater(t, acquire(t, c, in).Floor, g.Ceiling)
		}
	}
	losesAMaster(t, cluster, plain, waits)
}

func losesAMaster(t *testing.T, cluster *testserver.Cluster, plain, waits lease.Center) {
	long := ttl(10 * time.Minute)
	require.NoError(t, plain.Extras().Init(t.Context(), request(long)))
	a, b := acquire(t, plain, long), acquire(t, waits, long)
	// A client that must discover the failover on its own.
	alone := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Addrs(), ClusterStateReloadInterval: time.Hour})
	t.Cleanup(func() { _ = alone.Close() })
	dispenser, err := redisnumbers.NewDispenser(alone, &segmentcheck.Memory{}, numbers.SegmentConfig{Namespace: "shop", Name: "orders"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dispenser.Close()) })
	one := numberstore.Request{Name: "shop/orders", N: 1, Start: 1, Max: 1 << 60, Create: true}
	number, err := dispenser.Reserve(t.Context(), one)
	require.NoError(t, err)

	master := cluster.Master(keys("orders")[0])
	master.Kill()
	var q *lease.QuarantineError
	require.Eventually(t, func() bool {
		_, err := plain.Renew(t.Context(), a)
		return errors.As(err, &q) || errors.Is(err, lease.ErrLost)
	}, time.Minute, 20*time.Millisecond)
	q = requireQuarantine(t, plain, long)
	require.Contains(t, q.Reason, "incarnation of the store changed")
	time.Sleep(q.Wait())
	require.Greater(t, acquire(t, plain, long).Floor, a.Ceiling)
	require.Eventually(t, func() bool {
		next, err := dispenser.Reserve(t.Context(), one)
		return err == nil && next.First > number.Last
	}, time.Minute, 20*time.Millisecond)
	require.Eventually(t, func() bool { // once its client has found the promoted one, which has no replica
		_, err := waits.Renew(t.Context(), b)
		return errors.Is(err, redisseq.ErrNotReplicated)
	}, time.Minute, 20*time.Millisecond)
	master.Start()
	renewSoon(t, waits, b)
}

func TestSentinel(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	set := testserver.NewSentinels(t)
	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: testserver.SentinelName, SentinelAddrs: set.Addrs()})
	t.Cleanup(func() { _ = client.Close() })
	c, err := open(t, client)
	require.NoError(t, err)
	require.Equal(t, "redis by sentinel db 0", c.Extras().Name)
	long := ttl(10 * time.Minute)
	require.NoError(t, c.Extras().Init(ctx, request(long)))
	g := renew(t, c, acquire(t, c, long))
	require.EqualValues(t, 2, client.Wait(ctx, 2, time.Minute).Val())

	set.Master().Kill()
	again := renewSoon(t, c, g)
	require.Greater(t, again.Floor, g.Ceiling)
	rec, err := c.Extras().Operator.Record(ctx, "orders")
	require.NoError(t, err)
	require.Contains(t, rec.Reason, "incarnation of the store changed")
	require.NoError(t, c.Release(ctx, again, again.Now))
}

// renewSoon renews repeatedly, as a keeper does, until the center answers.
func renewSoon(t testing.TB, c lease.Center, g lease.Grant) (renewed lease.Grant) {
	t.Helper()
	require.Eventually(t, func() bool {
		var err error
		renewed, err = c.Renew(t.Context(), g)
		require.NotErrorIs(t, err, lease.ErrLost)
		return err == nil
	}, time.Minute, 20*time.Millisecond)
	require.Equal(t, g.Worker, renewed.Worker)
	return renewed
}
