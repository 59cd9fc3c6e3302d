//go:build prove

package testserver

import (
	"context"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func createTable(t *testing.T, s *Server, name string) {
	_, err := openSQL(t, "mysql", s.DSN()).Exec("CREATE TABLE " + name + " (id BIGINT)")
	require.NoError(t, err)
}

func hasTable(t *testing.T, s *Server, name string) (there bool) {
	require.NoError(t, openSQL(t, "mysql", s.DSN()).
		QueryRow("SELECT COUNT(*) FROM information_schema.tables WHERE table_name = ?", name).Scan(&there))
	return there
}

func TestReplica(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]struct {
		primary func(testing.TB, ...string) *Server
		replica func(testing.TB, *Server, ...string) *Server
		put     func(t *testing.T, s *Server, k string)
		has     func(t *testing.T, s *Server, k string) bool
	}{
		"redis": {
			NewRedis, NewRedisReplica,
			func(t *testing.T, s *Server, k string) {
				require.NoError(t, openRedis(t, s.Addr()).Set(t.Context(), k, "", 0).Err())
			},
			func(t *testing.T, s *Server, k string) bool {
				n, err := openRedis(t, s.Addr()).Exists(t.Context(), k).Result()
				require.NoError(t, err)
				return n == 1
			},
		},
		"mariadb": {NewMariaDBPrimary, NewMariaDBReplica, createTable, hasTable},
		"mysql":   {NewMySQLPrimary, NewMySQLReplica, createTable, hasTable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arrives := func(s *Server, k string) {
				t.Helper()
				require.Eventually(t, func() bool { return e.has(t, s, k) }, time.Minute, 10*time.Millisecond)
			}
			first := e.primary(t)
			e.put(t, first, "a")
			second := e.replica(t, first)
			require.True(t, e.has(t, second, "a"), "it has what was there")
			e.put(t, first, "b")
			arrives(second, "b")

			second.CutLink()
			e.put(t, first, "c")
			time.Sleep(100 * time.Millisecond)
			require.False(t, e.has(t, second, "c"))
			second.Follow(first)
			require.True(t, e.has(t, second, "c"))

			second.Pause() // the link stays open
			e.put(t, first, "d")
			second.Resume()
			arrives(second, "d")

			first.Kill()
			second.Promote()
			e.put(t, second, "e")
			require.True(t, e.has(t, second, "d"))
			first.Start()
			first.Follow(second)
			require.True(t, e.has(t, first, "e"), "a former primary follows the new one")
		})
	}
}

func TestReplicaOfAnotherKind(t *testing.T) {
	t.Parallel()
	require.Nil(t, postgres.replication)
	require.Nil(t, node.replication, "the cluster has its own")
}

func TestSentinels(t *testing.T) {
	t.Parallel()
	set := NewSentinels(t)
	require.Len(t, set.Addrs(), 3)
	require.Same(t, set.Redis[0], set.Master())
	client := goredis.NewFailoverClient(&goredis.FailoverOptions{MasterName: SentinelName, SentinelAddrs: set.Addrs()})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	require.NoError(t, client.Set(t.Context(), "k", "v", 0).Err())
	require.EqualValues(t, 2, client.Wait(t.Context(), 2, time.Minute).Val())

	set.Sentinels[0].Kill() // two are a majority
	set.Redis[0].Kill()
	require.Eventually(t, func() bool { return set.Master() != set.Redis[0] }, time.Minute, 50*time.Millisecond)
	require.Eventually(t, func() bool { return client.Get(t.Context(), "k").Val() == "v" }, time.Minute, 50*time.Millisecond)
	require.Eventually(t, func() bool { return client.Set(t.Context(), "k", "w", 0).Err() == nil }, time.Minute, 50*time.Millisecond)

	set.Redis[0].Start() // it becomes a replica
	require.Eventually(t, func() bool {
		return openRedis(t, set.Redis[0].Addr()).Get(t.Context(), "k").Val() == "w"
	}, time.Minute, 50*time.Millisecond)
}

func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := NewCluster(t)
	client := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: cluster.Addrs(), ClusterStateReloadInterval: time.Second})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	keys := []string{"{a}1", "{a}2", "{b}1", "{c}1"}
	for _, k := range keys {
		require.NoError(t, client.Set(t.Context(), k, k, 0).Err())
	}
	require.Same(t, cluster.Master("{a}1"), cluster.Master("{a}2"))

	from := cluster.Master("{a}1")
	to := cluster.Nodes[0]
	if from == to {
		to = cluster.Nodes[1]
	}
	cluster.Move("{a}1", to)
	require.Same(t, to, cluster.Master("{a}1"))
	there := func() {
		t.Helper()
		for _, k := range keys {
			require.Eventually(t, func() bool { return client.Get(t.Context(), k).Val() == k }, time.Minute, 50*time.Millisecond, k)
		}
	}
	there()

	require.NoError(t, client.ForEachMaster(t.Context(), func(ctx context.Context, m *goredis.Client) error {
		return m.Wait(ctx, 1, time.Minute).Err()
	}))
	to.Kill()
	require.Eventually(t, func() bool { return cluster.Master("{a}1") != to }, time.Minute, 50*time.Millisecond)
	there()
	to.Start()
	require.NotSame(t, to, cluster.Master("{a}1"))
}
