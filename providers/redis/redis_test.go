package redis

import (
	"context"
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
	for _, c := range []struct {
		name    string
		config  Config
		cluster bool
		kind    string
	}{
		{"single", Config{Addrs: []string{"h:1"}, TLS: true}, false, "redis"},
		{"several", Config{Addrs: []string{"h:1", "i:1"}}, true, "redis cluster"},
		{"cluster", Config{Addrs: []string{"h:1"}, Cluster: true}, true, "redis cluster"},
		{"sentinel", Config{Addrs: []string{"h:1", "i:1"}, Master: "m"}, false, "redis sentinel"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			client, err := newClient(c.config)
			require.NoError(t, err)
			defer func() { require.NoError(t, client.Close()) }()
			require.Equal(t, c.kind, c.config.kind())
			if c.cluster {
				o := client.(*redis.ClusterClient).Options()
				require.True(t, o.ContextTimeoutEnabled)
				require.False(t, o.ReadOnly || o.RouteByLatency || o.RouteRandomly)
				require.Equal(t, 2*time.Second, o.ReadTimeout)
				return
			}
			o := client.(*redis.Client).Options()
			require.True(t, o.ContextTimeoutEnabled)
			require.Equal(t, []time.Duration{5 * time.Second, 2 * time.Second, 2 * time.Second}, []time.Duration{o.DialTimeout, o.ReadTimeout, o.WriteTimeout})
			require.Equal(t, c.config.TLS, o.TLSConfig != nil)
		})
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	srv := miniredis.RunT(t)
	srv.RequireUserAuth("app", "word")
	client, err := Open(t.Context(), Config{Addrs: []string{srv.Addr()}, Username: "app", Password: "word", DB: 3})
	require.NoError(t, err)
	require.NoError(t, client.Set(t.Context(), "k", "v", 0).Err())
	require.NoError(t, client.Close())

	_, err = Open(t.Context(), Config{Addrs: []string{srv.Addr()}, Username: "app", Password: "wrong-word"})
	require.ErrorContains(t, err, "WRONGPASS")
	require.ErrorContains(t, err, "check that it runs and is reachable at this address, and username, password")
	require.NotContains(t, err.Error(), "wrong-word")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Open(ended, Config{Addrs: []string{srv.Addr()}})
	require.ErrorIs(t, err, context.Canceled)
}
