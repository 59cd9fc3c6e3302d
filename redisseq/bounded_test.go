package redisseq_test

import (
	"context"
	"net"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/silent"
)

// TestServerNeverAnswers calls everything without a deadline, by a client that waits forever.
func TestServerNeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := redis.NewClient(&redis.Options{
			Addr: "127.0.0.1:1", // a name would be looked up
			Dialer: func(context.Context, string, string) (net.Conn, error) {
				conn, _ := net.Pipe()
				return conn, nil
			},
			ReadTimeout: -1, WriteTimeout: -1,
		})
		defer client.Close()
		c, err := open(t, client)
		require.NoError(t, err)
		silent.Calls(t, c, request())
	})
}
