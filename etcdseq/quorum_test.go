//go:build prove

package etcdseq_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq"
)

// TestPartition shows what a partition does that leaves two servers which believe to lead.
func TestPartition(t *testing.T) {
	t.Parallel()
	t.Run("two primaries of Redis lend the same time twice", func(t *testing.T) {
		t.Parallel()
		primary := testserver.NewRedis(t)
		replica := testserver.NewRedisReplica(t, primary)
		onRedis := func(s *testserver.Server) lease.Center {
			client := redis.NewClient(&redis.Options{Addr: s.Addr(), ContextTimeoutEnabled: true})
			t.Cleanup(func() { require.NoError(t, client.Close()) })
			c, err := redisseq.New(client)
			require.NoError(t, err)
			return c
		}
		c := onRedis(primary)
		require.NoError(t, c.Extras().Init(t.Context(), request()))
		g := borrow(t, c, first())
		replica.CutLink()
		replica.Promote()
		held, next := lendOnBothSides(t, c, g, onRedis(replica))
		require.Greater(t, held.Ceiling, next.Floor)
	})
	// The holder reaches only the former leader. That has no quorum, so it renews nothing.
	t.Run("etcd does not", func(t *testing.T) {
		t.Parallel()
		e := testserver.NewEtcd(t, 3)
		leader, others := e.Leader(), followers(e)
		c, majority := open(t, leader.DSN()), open(t, others[0].DSN(), others[1].DSN())
		require.NoError(t, c.Extras().Init(t.Context(), request()))
		g := borrow(t, c, first())
		e.Isolate(leader)
		held, next := lendOnBothSides(t, c, g, majority)
		require.LessOrEqual(t, held.Ceiling, next.Floor)
		record, err := majority.Extras().Operator.Record(t.Context(), request().Namespace)
		require.NoError(t, err)
		require.Zero(t, record.Quarantine, record.Reason)
		require.NotContains(t, record.Incarnation, "rolled back", "elections do not count as a rollback")
	})
}

// lendOnBothSides renews a grant on one side of a partition until the other side has lent its worker id
// and the clock has come to that range. It returns both grants.
func lendOnBothSides(t *testing.T, one lease.Center, g lease.Grant, other lease.Center) (held, next lease.Grant) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	last := make(chan lease.Grant, 1)
	go func() {
		for ; ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
			if renewed, err := one.Renew(ctx, g); err == nil {
				g = renewed
			}
		}
		last <- g
	}()
	next = borrow(t, other, first())
	time.Sleep(time.Until(time.UnixMilli(next.Floor)))
	cancel()
	return <-last, next
}
