package redisseq_test

import (
	"context"
	"net"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
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
		req := request()
		g := lease.Grant{Request: req, Token: 1, Now: 1, Floor: 1, Ceiling: 2}
		operator := c.Extras().Operator
		for name, call := range map[string]func(context.Context) error{
			"Acquire":    func(ctx context.Context) error { _, err := c.Acquire(ctx, req); return err },
			"Renew":      func(ctx context.Context) error { _, err := c.Renew(ctx, g); return err },
			"Release":    func(ctx context.Context) error { return c.Release(ctx, g, 1) },
			"Init":       func(ctx context.Context) error { return c.Extras().Init(ctx, req) },
			"Slots":      func(ctx context.Context) error { _, err := c.Extras().Lister.Slots(ctx, req.Namespace); return err },
			"Record":     func(ctx context.Context) error { _, err := operator.Record(ctx, req.Namespace); return err },
			"Quarantine": func(ctx context.Context) error { _, err := operator.Quarantine(ctx, req.Namespace, "test"); return err },
		} {
			require.Error(t, call(context.Background()), name)
		}
		_, err = c.Extras().Examine(context.Background(), req.Namespace)
		require.NoError(t, err, "its findings tell")
	})
}
