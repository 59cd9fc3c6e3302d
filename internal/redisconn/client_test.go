package redisconn

import (
	"context"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// printed is a test that fails if go-redis prints something.
type printed struct{ *testing.T }

func (t printed) Printf(_ context.Context, format string, v ...any) { t.Errorf(format, v...) }

// TestErrorsOfADial: the caller logs the error once.
func TestErrorsOfADial(t *testing.T) {
	redis.SetLogger(printed{t})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	addr := l.Addr().String()
	for _, client := range []redis.UniversalClient{
		redis.NewClient(&redis.Options{Addr: addr}), redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{addr}}),
	} {
		c, err := New(client)
		require.NoError(t, err)
		err = c.Run(t.Context(), Call{Verb: "look", Script: redis.NewScript("return 1"), Keys: []string{"a"}})
		require.ErrorContains(t, err, ": dial tcp "+addr+": connect: connection refused")
		require.NoError(t, c.Close())
		require.NoError(t, client.Close())
	}
}
