package redisconn

import (
	"context"
	"net"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// TestServerThatIsDown: a call's error is that of its one dial, and the server is found once it is back.
func TestServerThatIsDown(t *testing.T) {
	t.Parallel()
	m, dials := miniredis.RunT(t), atomic.Int64{}
	client := redis.NewClient(&redis.Options{MaxRetries: -1, Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
		if dials.Add(1) <= 3 {
			return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
		}
		return new(net.Dialer).DialContext(ctx, network, m.Addr())
	}})
	t.Cleanup(func() { _ = client.Close() })
	c, err := New(client)
	require.NoError(t, err)
	call := Call{Script: redis.NewScript("return { 'OK' }"), Keys: []string{"a"}, Read: func(Reply) error { return nil }}
	for range 3 {
		require.ErrorContains(t, c.Run(t.Context(), call), ": dial tcp: connection refused")
	}
	require.NoError(t, c.Run(t.Context(), call))
	require.NoError(t, c.Close())
	c.refresh(t.Context(), new(net.OpError)) // for a late reply
	require.Nil(t, c.client)
}
