package redisseq_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/idworker/lease"
	"github.com/snowlease/snowlease/internal/testserver"
	"github.com/snowlease/snowlease/redisseq"
)

// What a real server does; times are short and waited for.

func TestRestartWithItsData(t *testing.T) {
	t.Parallel()
	s := newReal(t)
	short := ttl(2 * time.Second)
	c := opened(t, s, short)
	g := acquire(t, c, short)
	s.Reincarnate(t)
	q := requireQuarantine(t, c, short)
	require.Contains(t, q.Reason, "incarnation of the store changed from")
	again := renew(t, c, g)
	require.Equal(t, g.Token, again.Token, "it was on record")
	s.Sleep(time.Until(q.Until))
	next := acquire(t, s.center(t), short)
	require.GreaterOrEqual(t, next.Floor, q.Until.UnixMilli()-1)
}

func TestRestartWithoutData(t *testing.T) {
	t.Parallel()
	s, srv := startReal(t)
	c := opened(t, s)
	g := acquire(t, c)
	srv.Kill()
	_, err := c.Renew(t.Context(), g)
	require.Error(t, err)
	require.NotErrorIs(t, err, lease.ErrLost)
	require.Contains(t, err.Error(), "at redis "+s.addr+" db 0")
	srv.Start()
	again := renew(t, c, g)
	require.Greater(t, again.Token, g.Token)
	require.Contains(t, requireQuarantine(t, c).Reason, "nothing is on record")
	require.NoError(t, c.Release(t.Context(), again, again.Now))
}

func TestKilledAndRestartedFromAnOldDump(t *testing.T) {
	t.Parallel()
	s, srv := startReal(t)
	c := opened(t, s)
	require.NoError(t, s.admin.Save(t.Context()).Err())
	g := acquire(t, c)
	srv.Kill()
	srv.Start()
	requireQuarantine(t, c) // a newcomer comes first
	again := renew(t, c, g)
	require.Equal(t, g.Worker, again.Worker)
	require.GreaterOrEqual(t, again.Ceiling, g.Ceiling)
}

func TestUserWithoutInfo(t *testing.T) {
	t.Parallel()
	s, srv := startReal(t)
	require.NoError(t, s.admin.Do(t.Context(), "ACL", "SETUSER", "app", "on", ">secret", "~snowlease:*", "+@all", "-info").Err())
	client := redis.NewClient(&redis.Options{Addr: s.addr, Username: "app", Password: "secret"})
	t.Cleanup(func() { _ = client.Close() })
	c, err := redisseq.New(client)
	require.NoError(t, err)
	refused := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, redisseq.ErrRunID)
		require.Contains(t, err.Error(), "+info")
		require.Contains(t, err.Error(), "quarantine: never")
		require.NotContains(t, err.Error(), "secret")
	}
	refused(c.Init(t.Context(), request()))
	_, err = c.Acquire(t.Context(), request())
	refused(err)
	require.Zero(t, s.admin.DBSize(t.Context()).Val())

	// Also where a grant is out, and the server comes back from an old dump.
	g := acquire(t, opened(t, s))
	require.NoError(t, s.admin.Save(t.Context()).Err())
	srv.Kill()
	srv.Start()
	require.NoError(t, s.admin.Do(t.Context(), "ACL", "SETUSER", "app", "on", ">secret", "~snowlease:*", "+@all", "-info").Err())
	_, err = c.Renew(t.Context(), g)
	refused(err)
	refused(c.Release(t.Context(), g, g.Now))

	c, err = redisseq.New(client, redisseq.WithQuarantine(redisseq.Never))
	require.NoError(t, err)
	renew(t, c, g)
	acquire(t, c)
}

func TestUserWithoutRights(t *testing.T) {
	t.Parallel()
	s := newReal(t)
	require.NoError(t, s.admin.Do(t.Context(), "ACL", "SETUSER", "app", "on", ">secret", "~other:*", "+@all").Err())
	client := redis.NewClient(&redis.Options{Addr: s.addr, Username: "app", Password: "secret"})
	t.Cleanup(func() { _ = client.Close() })
	c, err := redisseq.New(client)
	require.NoError(t, err)
	_, err = c.Acquire(t.Context(), request())
	require.ErrorContains(t, err, "NOPERM")
}

func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	s := newReal(t)
	c := opened(t, s)
	g := acquire(t, c)
	require.NoError(t, s.admin.ConfigSet(t.Context(), "maxmemory", "1").Err())
	require.ErrorContains(t, s.admin.Set(t.Context(), "k", "v", 0).Err(), "OOM")
	g = renew(t, c, g)
	acquire(t, c)
	require.NoError(t, c.Release(t.Context(), g, g.Now))
}

func TestEviction(t *testing.T) {
	t.Parallel()
	s := newReal(t)
	c := opened(t, s)
	g := acquire(t, c)
	require.NoError(t, s.admin.ConfigSet(t.Context(), "maxmemory-policy", "volatile-ttl").Err())
	require.NoError(t, s.admin.ConfigSet(t.Context(), "maxmemory", "1").Err())
	renew(t, c, g)

	require.NoError(t, s.admin.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err())
	require.Eventually(t, func() bool {
		s.admin.Set(t.Context(), "k", "v", 0)
		return s.admin.Exists(t.Context(), keys("orders")...).Val() < 4
	}, 10*time.Second, time.Millisecond)
	require.NoError(t, s.admin.ConfigSet(t.Context(), "maxmemory", "0").Err())
	requireQuarantine(t, c)
	renew(t, c, g)
}

func TestForgottenScripts(t *testing.T) {
	t.Parallel()
	s := newReal(t)
	c := opened(t, s)
	g := acquire(t, c)
	require.NoError(t, s.admin.ScriptFlush(t.Context()).Err())
	renew(t, c, g)
}

func TestKeysHaveNoTTL(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *store) {
		c := opened(t, s)
		g := acquire(t, c)
		for _, key := range keys("orders") {
			require.Equal(t, time.Duration(-1), s.admin.TTL(t.Context(), key).Val())
			require.NoError(t, s.admin.Expire(t.Context(), key, time.Hour).Err())
		}
		renew(t, c, g)
		require.EqualValues(t, 4, s.admin.DBSize(t.Context()).Val())
		for _, key := range keys("orders") {
			require.Equal(t, time.Duration(-1), s.admin.TTL(t.Context(), key).Val(), "a TTL set by others does not stay")
		}
	})
}

func TestServerThatHangs(t *testing.T) {
	t.Parallel()
	s, srv := startReal(t)
	for name, options := range map[string]redis.Options{
		"default":               {Addr: s.addr},
		"ContextTimeoutEnabled": {Addr: s.addr, ContextTimeoutEnabled: true, ReadTimeout: -1},
	} {
		t.Run(name, func(t *testing.T) {
			client := redis.NewClient(&options)
			t.Cleanup(func() { _ = client.Close() })
			c, err := redisseq.New(client)
			require.NoError(t, err)
			in := func(r *lease.Request) { r.Namespace = name }
			require.NoError(t, c.Init(t.Context(), request(in)))
			g := acquire(t, c, in)

			srv.Pause()
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			_, err = c.Renew(ctx, g)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			ctx, cancel = context.WithCancel(t.Context())
			time.AfterFunc(50*time.Millisecond, cancel)
			require.ErrorIs(t, c.Release(ctx, g, g.Now), context.Canceled, "the end of a context without a deadline counts too")
			srv.Resume()

			// The call that was given up may have been made: as after a lost reply.
			if err := c.Release(t.Context(), g, g.Now); err != nil {
				require.ErrorIs(t, err, lease.ErrLost)
			}
		})
	}
}

func TestContextThatHasEnded(t *testing.T) {
	t.Parallel()
	s := newMini(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.center(t).Acquire(ctx, request())
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, s.admin.DBSize(t.Context()).Val(), "nothing was sent")
}

func TestReplica(t *testing.T) {
	t.Parallel()
	s := newReal(t)
	c := opened(t, s)
	g := acquire(t, c)
	require.NoError(t, s.admin.ReplicaOf(t.Context(), "127.0.0.1", "1").Err())
	is := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, redisseq.ErrReplica)
	}
	_, err := c.Acquire(t.Context(), request())
	is(err)
	_, err = c.Renew(t.Context(), g)
	is(err)
	g.Token++ // a replica that is behind must not say that a grant is lost
	_, err = c.Renew(t.Context(), g)
	is(err)
	is(c.Release(t.Context(), g, g.Now))
	is(c.Init(t.Context(), request(func(r *lease.Request) { r.Namespace = "new" })))

	require.NoError(t, s.admin.ReplicaOf(t.Context(), "NO", "ONE").Err())
	g.Token--
	renew(t, c, g)
}

func TestTooFewReplicas(t *testing.T) {
	t.Parallel()
	s := newReal(t)
	c := opened(t, s)
	g := acquire(t, c)
	require.NoError(t, s.admin.ConfigSet(t.Context(), "min-replicas-to-write", "1").Err())
	_, err := c.Renew(t.Context(), g)
	require.ErrorContains(t, err, "NOREPLICAS")
	require.NoError(t, s.admin.ConfigSet(t.Context(), "min-replicas-to-write", "0").Err())
	renew(t, c, g)
}

func TestBigPool(t *testing.T) {
	t.Parallel()
	s := newReal(t)
	const n = 20_000
	c := opened(t, s, pool(n))
	g := acquire(t, c, pool(n))
	upper := func(r *lease.Request) { r.Pool, r.First, r.Last = n, n-2, n-1 }
	require.EqualValues(t, n-2, acquire(t, c, upper).Worker)
	require.EqualValues(t, n-1, acquire(t, c, upper).Worker)
	_, err := c.Acquire(t.Context(), request(upper))
	require.ErrorAs(t, err, new(*lease.NoFreeWorkerError))

	// Used workers come after those never lent; sweeping finds what many others hide.
	for range 1100 {
		o := acquire(t, c, pool(n))
		require.NoError(t, c.Release(t.Context(), o, o.Floor))
	}
	require.EqualValues(t, 1101, acquire(t, c, pool(n)).Worker)
	one := func(r *lease.Request) { r.Pool, r.First, r.Last = n, 1100, 1100 }
	require.EqualValues(t, 1100, acquire(t, c, one).Worker)
	_, err = c.Acquire(t.Context(), request(one))
	require.ErrorAs(t, err, new(*lease.NoFreeWorkerError))

	// A loss is made good in steps, and holders do not wait for them.
	require.NoError(t, s.admin.Del(t.Context(), keys("orders")[:3]...).Err())
	g = renew(t, c, g)
	require.Contains(t, requireQuarantine(t, c, pool(n)).Reason, "slot records were missing: of 20000 leases")
	slots, err := c.Slots(t.Context(), "orders")
	require.NoError(t, err)
	require.Len(t, slots, n)
	require.Equal(t, g.Ceiling, slots[g.Worker].Mark)
	require.Equal(t, g.Holder, slots[g.Worker].Holder)
	require.EqualValues(t, n, s.admin.HLen(t.Context(), keys("orders")[2]).Val())
}

func TestCluster(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	var addrs []string
	var first *redis.Client
	for i := range 3 {
		srv := testserver.NewRedis(t, "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf")
		node := redis.NewClient(&redis.Options{Addr: srv.Addr()})
		t.Cleanup(func() { _ = node.Close() })
		require.NoError(t, node.ClusterAddSlotsRange(ctx, i*16384/3, (i+1)*16384/3-1).Err())
		require.NoError(t, node.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err())
		if i == 0 {
			first = node
		} else {
			require.NoError(t, first.ClusterMeet(ctx, "127.0.0.1", port(srv)).Err())
		}
		addrs = append(addrs, srv.Addr())
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs})
	t.Cleanup(func() { _ = client.Close() })
	require.Eventually(t, func() bool {
		for _, addr := range addrs {
			node := redis.NewClient(&redis.Options{Addr: addr})
			info, _ := node.ClusterInfo(ctx).Result()
			nodes, _ := node.ClusterSlots(ctx).Result() //nolint:staticcheck // ClusterShards came with Redis 7, and 6.2 is supported
			_ = node.Close()
			if len(info) < 16 || info[:16] != "cluster_state:ok" || len(nodes) != 3 {
				return false
			}
		}
		return true
	}, 30*time.Second, 20*time.Millisecond)

	c, err := redisseq.New(client)
	require.NoError(t, err)
	require.Contains(t, c.String(), "redis cluster 127.0.0.1:")
	masters := map[string]bool{}
	for _, ns := range []string{"orders", "bills", "users", "stock", "mail"} {
		in := func(r *lease.Request) { r.Namespace = ns }
		require.NoError(t, c.Init(ctx, request(in)))
		g := renew(t, c, acquire(t, c, in))
		acquire(t, c, in)
		require.NoError(t, c.Release(ctx, g, g.Now))
		slots, err := c.Slots(ctx, ns)
		require.NoError(t, err)
		require.Len(t, slots, 4)
		slot := client.ClusterKeySlot(ctx, keys(ns)[0]).Val()
		for _, key := range keys(ns) {
			require.Equal(t, slot, client.ClusterKeySlot(ctx, key).Val())
			require.EqualValues(t, 1, client.Exists(ctx, key).Val())
		}
		master, err := client.MasterForKey(ctx, keys(ns)[0])
		require.NoError(t, err)
		masters[master.Options().Addr] = true
	}
	require.Greater(t, len(masters), 1, "namespaces spread over the masters")
}

func TestSentinel(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	master, replica := testserver.NewRedis(t, "--repl-diskless-sync-delay", "0"), testserver.NewRedis(t)
	second := redis.NewClient(&redis.Options{Addr: replica.Addr()})
	t.Cleanup(func() { _ = second.Close() })
	require.NoError(t, second.ReplicaOf(ctx, "127.0.0.1", port(master)).Err())
	sentinel := startSentinel(t, master)
	soon := func(f func() bool) {
		t.Helper()
		require.Eventually(t, f, 60*time.Second, 50*time.Millisecond)
	}
	watcher := redis.NewSentinelClient(&redis.Options{Addr: sentinel})
	t.Cleanup(func() { _ = watcher.Close() })
	soon(func() bool {
		known, _ := watcher.Replicas(ctx, "main").Result()
		return len(known) == 1 && known[0]["master-link-status"] == "ok" && known[0]["slave-repl-offset"] != "0"
	})

	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "main", SentinelAddrs: []string{sentinel}})
	t.Cleanup(func() { _ = client.Close() })
	c, err := redisseq.New(client)
	require.NoError(t, err)
	require.Equal(t, "redis by sentinel db 0", c.String())
	long := ttl(10 * time.Minute)
	require.NoError(t, c.Init(ctx, request(long)))
	g := renew(t, c, acquire(t, c, long))
	soon(func() bool { return second.Exists(ctx, keys("orders")...).Val() == 4 })

	master.Kill()
	soon(func() bool {
		again, err := c.Renew(ctx, g)
		if err == nil {
			require.Equal(t, g.Worker, again.Worker)
		}
		return err == nil
	})
	require.Contains(t, requireQuarantine(t, c, long).Reason, "incarnation of the store changed")
}

// startSentinel starts a sentinel that watches master under the name main.
func startSentinel(t *testing.T, master *testserver.Server) (addr string) {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	require.NoError(t, err)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr = free.Addr().String()
	require.NoError(t, free.Close())
	_, own, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	conf := filepath.Join(t.TempDir(), "sentinel.conf")
	require.NoError(t, os.WriteFile(conf, []byte("bind 127.0.0.1\nport "+own+"\nsentinel monitor main 127.0.0.1 "+port(master)+
		" 1\nsentinel down-after-milliseconds main 1000\nsentinel failover-timeout main 5000\n"), 0o600))
	cmd := exec.Command(program, conf, "--sentinel")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	require.Eventually(t, func() bool { return client.Ping(t.Context()).Err() == nil }, 30*time.Second, 20*time.Millisecond)
	return addr
}

func port(s *testserver.Server) string { return s.Addr()[len("127.0.0.1:"):] }
