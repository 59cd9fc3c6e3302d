//go:build prove

package redisseq_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/redistest"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
)

// answers waits until a Redis accepts writes.
func answers(t testing.TB, client *redis.Client) {
	t.Helper()
	require.Eventually(t, func() bool { return client.Persist(t.Context(), "none").Err() == nil }, time.Minute, 10*time.Millisecond)
}

// TestConnectionsThatAreCut: a proxy cuts connections that are idle, or is restarted. The
// next renewal succeeds on a new connection.
func TestConnectionsThatAreCut(t *testing.T) {
	t.Parallel()
	s, srv := startReal(t)
	proxy := testserver.NewHAProxy(t, []*testserver.Server{srv})
	client := redis.NewClient(&redis.Options{Addr: proxy.Addr(), ClientName: "renews"})
	t.Cleanup(func() { _ = client.Close() })
	c, err := open(t, client)
	require.NoError(t, err)
	require.NoError(t, c.Extras().Init(t.Context(), request()))
	g := acquire(t, c)
	for range 2 {
		proxy.CutConnections()
		require.Eventually(t, func() bool {
			list, err := s.Admin.ClientList(t.Context()).Result()
			return err == nil && !strings.Contains(list, "name=renews")
		}, time.Minute, 10*time.Millisecond)
		g = renew(t, c, g)
	}
	proxy.Kill()
	proxy.Start()
	g = renew(t, c, g)
	require.NoError(t, c.Release(t.Context(), g, g.Now))
}

// TestMasterDemotedBehindHAProxy: connections to a former master stay open, until it
// refuses a write. The client then connects to the new one.
func TestMasterDemotedBehindHAProxy(t *testing.T) {
	t.Parallel()
	s, master, replica := startReplicated(t)
	proxied := &store{Store: &redistest.Store{Addr: testserver.NewHAProxy(t, []*testserver.Server{master, replica}).Addr()}}
	opened(t, s)
	c := proxied.center(t)
	g := acquire(t, c)
	replica.Follow(master)
	replica.Promote()
	master.Follow(replica)
	answers(t, proxied.Client(t)) // a new connection
	_, err := c.Renew(t.Context(), g)
	q := (*lease.QuarantineError)(nil)
	require.ErrorAs(t, err, &q, "it reached the new master")
	time.Sleep(q.Wait() + 100*time.Millisecond)
	require.Greater(t, renew(t, c, g).Floor, g.Ceiling)
}
