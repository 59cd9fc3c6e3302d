//go:build prove

package redisseq_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/testserver"
)

// A life observes the incarnation of a server.
type life struct {
	t    testing.TB
	srv  *testserver.Server
	last string
}

func (l *life) now() string {
	l.t.Helper()
	s := at(l.t, l.srv)
	defer s.Admin.Close()
	c, err := open(l.t, s.Admin)
	require.NoError(l.t, err)
	var id string
	require.Eventually(l.t, func() bool {
		id, err = c.Extras().Operator.Incarnation(l.t.Context(), "orders")
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	return id
}

func (l *life) goesOn(event string) {
	l.t.Helper()
	require.Equal(l.t, l.last, l.now(), event)
}

func (l *life) isAnother(event string) {
	l.t.Helper()
	id := l.now()
	require.NotEqual(l.t, l.last, id, event)
	l.last = id
}

// TestIncarnation: what changes the incarnation, as in doc.go.
func TestIncarnation(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	primary, replica, second := testserver.NewRedis(t), testserver.NewRedis(t), testserver.NewRedis(t)
	admin, other := at(t, primary).Admin, at(t, replica).Admin
	port := func(s *testserver.Server) string { return s.Addr()[strings.LastIndexByte(s.Addr(), ':')+1:] }
	l := &life{t: t, srv: primary}
	l.last = l.now()
	l.goesOn("nothing")

	replica.Follow(primary)
	l.isAnother("the first replica")
	second.Follow(primary)
	l.goesOn("another replica")
	require.NoError(t, admin.Do(ctx, "CLIENT", "KILL", "TYPE", "replica").Err())
	replica.Follow(primary)
	l.goesOn("a broken link")
	replica.CutLink()
	replica.Follow(primary)
	l.goesOn("a replica that comes back")
	replica.Promote()
	replica.Follow(primary)
	l.goesOn("a replica that was promoted comes back")
	require.NoError(t, admin.FlushAll(ctx).Err())
	require.Eventually(t, func() bool { return admin.Save(ctx).Err() == nil }, time.Minute, 10*time.Millisecond, "a save for a replica may be under way")
	primary.Promote()
	l.goesOn("FLUSHALL, SAVE, REPLICAOF NO ONE of a master")

	require.NoError(t, admin.ReplicaOf(ctx, "127.0.0.1", port(primary)).Err())
	l.goesOn("REPLICAOF to itself, which takes no writes")
	primary.Promote()
	l.isAnother("and back")
	replica.Follow(primary)

	failover := func(from *redis.Client, to *testserver.Server) {
		require.NoError(t, from.Do(ctx, "FAILOVER", "TO", "127.0.0.1", port(to)).Err())
		require.Eventually(t, func() bool {
			info := from.InfoMap(ctx, "replication")
			return info.Item("Replication", "master_port") == port(to) && info.Item("Replication", "master_link_status") == "up"
		}, time.Minute, 10*time.Millisecond)
	}
	failover(admin, replica)
	failover(other, primary)
	l.isAnother("FAILOVER there and back")

	for _, s := range []*testserver.Server{replica, second} {
		s.CutLink()
	}
	require.NoError(t, admin.ConfigSet(ctx, "repl-backlog-ttl", "1").Err())
	require.Eventually(t, func() bool { return l.now() != l.last }, time.Minute, 100*time.Millisecond)
	l.isAnother("no replica for repl-backlog-ttl")
	require.NoError(t, admin.ConfigSet(ctx, "repl-backlog-ttl", "0").Err())
	replica.Follow(primary)
	l.isAnother("a replica after that")

	primary.Stop()
	primary.Start()
	l.isAnother("a restart")
}

func replication(t testing.TB, s *testserver.Server, name string) string {
	t.Helper()
	return at(t, s).Admin.InfoMap(t.Context(), "replication").Item("Replication", name)
}

// follows waits until s is a replica that has its master's data.
func follows(t testing.TB, s *testserver.Server) {
	t.Helper()
	require.Eventually(t, func() bool { return replication(t, s, "master_link_status") == "up" }, time.Minute, 50*time.Millisecond)
}

func TestIncarnationOfACluster(t *testing.T) {
	t.Parallel()
	cluster, key := testserver.NewCluster(t), keys("orders")[0]
	master := cluster.Master(key)
	l := &life{t: t, srv: master}
	l.last = l.now()
	var replica *testserver.Server
	for _, s := range cluster.Nodes {
		if strings.HasSuffix(master.Addr(), ":"+replication(t, s, "master_port")) {
			replica = s
		}
	}
	for _, to := range []*testserver.Server{replica, master} {
		follows(t, to)
		require.NoError(t, at(t, to).Admin.Do(t.Context(), "CLUSTER", "FAILOVER", "TAKEOVER").Err())
		require.Equal(t, "master", replication(t, to, "role"))
		require.Eventually(t, func() bool { return cluster.Master(key) == to }, time.Minute, 10*time.Millisecond, "until the other nodes know")
	}
	l.isAnother("CLUSTER FAILOVER TAKEOVER there and back")
}

func TestIncarnationBySentinel(t *testing.T) {
	t.Parallel()
	set := testserver.NewSentinels(t)
	l := &life{t: t, srv: set.Redis[0]}
	l.last = l.now()
	set.Redis[2].Stop() // two remain and take turns
	sentinel := redis.NewSentinelClient(&redis.Options{Addr: set.Sentinels[0].Addr()})
	t.Cleanup(func() { _ = sentinel.Close() })
	for _, to := range []*testserver.Server{set.Redis[1], set.Redis[0]} {
		follows(t, to) // else Sentinel fails back to a master that kept running unaware
		for deadline := time.Now().Add(time.Minute); set.Master() != to; {
			require.True(t, time.Now().Before(deadline))
			_ = sentinel.Failover(t.Context(), testserver.SentinelName).Err() // refused during another failover
			time.Sleep(10 * time.Millisecond)
		}
	}
	l.isAnother("SENTINEL FAILOVER there and back")
}
