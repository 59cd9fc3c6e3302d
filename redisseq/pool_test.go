package redisseq_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/internal/redisnumbers"
	"github.com/snowlease/snowlease/numbers"
)

// refusing is a limiter that is open.
type refusing struct{}

func (refusing) Allow() error       { return errors.New("too many errors") }
func (refusing) ReportResult(error) {}

// TestBusyPool: the application keeps all its connections busy, and its limiter refuses calls, or its
// client has no timeouts, or reads from replicas.
func TestBusyPool(t *testing.T) {
	t.Parallel()
	s := newMini(t)
	busy := func(client *redis.Client) {
		conn := client.Conn()
		require.NoError(t, conn.Ping(t.Context()).Err())
		t.Cleanup(func() { _ = conn.Close(); _ = client.Close() })
		within, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		require.Error(t, client.Get(within, "key").Err())
	}
	single := redis.NewClient(&redis.Options{Addr: s.Addr, PoolSize: 1, MaxRetries: -1, PoolTimeout: time.Millisecond, ReadTimeout: -2, WriteTimeout: -1})
	busy(single)
	limited := redis.NewClient(&redis.Options{Addr: s.Addr, Limiter: refusing{}})
	t.Cleanup(func() { _ = limited.Close() })
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{s.Addr}, PoolSize: 1, PoolTimeout: time.Millisecond})
	t.Cleanup(func() { _ = cluster.Close() })
	replicas := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{s.Addr}, RouteByLatency: true}) // would send READONLY, which this server refuses
	t.Cleanup(func() { _ = replicas.Close() })
	node, err := cluster.MasterForKey(t.Context(), "key")
	require.NoError(t, err)
	busy(node)

	one := numberstore.Request{Name: "shop/orders", N: 1, Start: 1, Max: math.MaxInt64}
	orders := numbers.SegmentConfig{Namespace: "shop", Name: "orders", Strict: true}
	for _, client := range []redis.UniversalClient{single, limited, cluster, replicas} {
		s.Wipe(t)
		c, err := open(t, client)
		require.NoError(t, err)
		require.NoError(t, c.Extras().Init(t.Context(), request()))
		g := renew(t, c, acquire(t, c))
		store, err := redisnumbers.New(client)
		require.NoError(t, err)
		require.NoError(t, store.Create(t.Context(), "shop/orders", 1))
		_, err = store.Reserve(t.Context(), one)
		require.NoError(t, err)
		dispenser, err := redisnumbers.NewDispenser(client, store, orders)
		require.NoError(t, err)
		_, err = dispenser.Reserve(t.Context(), one)
		require.NoError(t, err)
		for range 2 {
			for _, closes := range []func() error{c.Close, store.Close, dispenser.Close} {
				require.NoError(t, closes())
			}
		}
		renew(t, c, g) // as a worker that starts again
		require.NoError(t, c.Close())
	}

	c, err := open(t, shrunk{single})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = c.Acquire(ctx, request())
	require.ErrorContains(t, err, "the client's pool is shared")
	require.NoError(t, c.Close())
}
