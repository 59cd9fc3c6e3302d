package redis

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/testserver"
)

func TestMain(m *testing.M) { testserver.Main(m) }

func TestKinds(t *testing.T) {
	t.Parallel()
	for kind, configs := range map[string][]Config{
		"redis":          {{Addrs: []string{"h:1"}, TLS: true}, {Addrs: []string{"h:1"}}},
		"redis cluster":  {{Addrs: []string{"h:1", "i:1"}}, {Addrs: []string{"h:1"}, Cluster: true}},
		"redis sentinel": {{Addrs: []string{"h:1", "i:1"}, Master: "m"}},
	} {
		for _, config := range configs {
			client, err := newClient(config)
			require.NoError(t, err)
			require.Equal(t, kind, config.kind())
			switch client := client.(type) {
			case *redis.ClusterClient:
				o := client.Options()
				require.Equal(t, "redis cluster", kind)
				require.True(t, o.ContextTimeoutEnabled)
				require.False(t, o.ReadOnly || o.RouteByLatency || o.RouteRandomly)
				require.Equal(t, 2*time.Second, o.ReadTimeout)
			case *redis.Client:
				o := client.Options()
				require.NotEqual(t, "redis cluster", kind)
				require.True(t, o.ContextTimeoutEnabled)
				require.Equal(t, []time.Duration{5 * time.Second, 2 * time.Second, 2 * time.Second}, []time.Duration{o.DialTimeout, o.ReadTimeout, o.WriteTimeout})
				require.Equal(t, config.TLS, o.TLSConfig != nil)
			}
			require.NoError(t, client.Close())
		}
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	srv := miniredis.RunT(t)
	srv.RequireUserAuth("app", "word")
	client, err := Open(t.Context(), Config{Addrs: []string{srv.Addr()}, Username: "app", Password: "word\n", DB: 3})
	require.NoError(t, err)
	require.NoError(t, client.Set(t.Context(), "k", "v", 0).Err())
	require.NoError(t, client.Close())

	_, err = Open(t.Context(), Config{Addrs: []string{srv.Addr()}, Username: "app", Password: "wrong-word"})
	require.ErrorContains(t, err, "WRONGPASS")
	require.ErrorContains(t, err, "check that it runs and is reachable at this address, and username, password")
	require.NotContains(t, err.Error(), "wrong-word")

	srv.SetError("ERR \x1b[2J" + strings.Repeat("x", 1<<20))
	_, err = Open(t.Context(), Config{Addrs: []string{srv.Addr()}})
	require.ErrorContains(t, err, "ERR ?[2Jxxx")
	require.Less(t, len(err.Error()), 1000)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Open(ended, Config{Addrs: []string{srv.Addr()}})
	require.ErrorIs(t, err, context.Canceled)
}
