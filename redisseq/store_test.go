package redisseq_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/leasetest"
	"github.com/snowlease/snowlease/redisseq"
)

// A store is a Redis of one test, for leasetest and for the tests here.
type store struct {
	addr        string
	admin       *redis.Client
	options     []redisseq.Option
	sleep       func(time.Duration)
	reincarnate func(testing.TB)
	traits      leasetest.Traits
	run, replid atomic.Int64 // of a miniredis
	version     atomic.Value // of a miniredis
}

var _ leasetest.Store = (*store)(nil)

// newMini returns a miniredis with a clock that only Sleep moves.
func newMini(t testing.TB, options ...redisseq.Option) *store {
	t.Helper()
	m := miniredis.NewMiniRedis()
	require.NoError(t, m.Start())
	t.Cleanup(m.Close)
	s := &store{addr: m.Addr(), options: options, traits: leasetest.Traits{LeastRecentlyUsed: true, Incarnation: true, StandsStill: true}}
	// It tells its incarnation as a Redis does.
	s.version.Store("7.2.4")
	m.Server().SetPreHook(func(c *server.Peer, cmd string, args ...string) bool {
		if cmd != "INFO" {
			return false
		}
		sections := map[string]string{
			"server":      fmt.Sprintf("# Server\r\nredis_version:%s\r\nrun_id:%040x\r\ntcp_port:1\r\n", s.version.Load(), s.run.Load()+1),
			"replication": fmt.Sprintf("# Replication\r\nrole:master\r\nmaster_replid:%040x\r\nmaster_replid2:%040x\r\n", s.replid.Load()+1, 0),
		}
		if len(args) != 1 || sections[args[0]] == "" { // Redis 6.2 takes one
			c.WriteError("ERR syntax error")
			return true
		}
		c.WriteBulk(sections[args[0]])
		return true
	})
	var mu sync.Mutex
	now := time.Now()
	m.SetTime(now)
	s.sleep = func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(d)
		m.SetTime(now)
	}
	s.reincarnate = func(testing.TB) { s.run.Add(1) }
	s.admin = s.client(t)
	return s
}

// newReal returns a Redis of the test's own, which a test may kill and restart.
func newReal(t testing.TB, options ...redisseq.Option) *store {
	t.Helper()
	s, _ := startReal(t, options...)
	return s
}

func startReal(t testing.TB, options ...redisseq.Option) (*store, *testserver.Server) {
	t.Helper()
	srv := testserver.NewRedis(t)
	s := &store{addr: srv.Addr(), options: options, traits: leasetest.Traits{LeastRecentlyUsed: true, Incarnation: true}}
	s.sleep = time.Sleep
	s.admin = s.client(t)
	s.reincarnate = func(t testing.TB) {
		require.NoError(t, s.admin.Save(context.Background()).Err())
		srv.Kill()
		srv.Start()
	}
	return s, srv
}

// engines are what a test runs on that does not care which.
var engines = map[string]func(testing.TB, ...redisseq.Option) *store{"miniredis": newMini, "redis": newReal}

func eachEngine(t *testing.T, test func(t *testing.T, s *store)) {
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, engine(t))
		})
	}
}

func (s *store) client(t testing.TB) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: s.addr})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (s *store) Center(t testing.TB) lease.Center { return s.center(t) }

func (s *store) center(t testing.TB) *redisseq.Center {
	t.Helper()
	c, err := redisseq.New(s.client(t), s.options...)
	require.NoError(t, err)
	return c
}

func (s *store) Sleep(d time.Duration) { s.sleep(d) }

func (s *store) Wipe(t testing.TB) { require.NoError(t, s.admin.FlushAll(t.Context()).Err()) }

func (s *store) Drop(t testing.TB, namespace string, what leasetest.Records) {
	t.Helper()
	ctx, k := t.Context(), keys(namespace)
	latest, err := s.admin.ZRange(ctx, k[0], -1, -1).Result()
	require.NoError(t, err)
	require.Len(t, latest, 1)
	var gone int64
	switch what {
	case leasetest.OneSlot:
		gone, err = s.admin.ZRem(ctx, k[0], latest[0]).Result()
	case leasetest.OneMark:
		gone, err = s.admin.HDel(ctx, k[1], latest[0]).Result()
	case leasetest.Owners:
		gone, err = s.admin.Del(ctx, k[2]).Result()
	case leasetest.Meta:
		gone, err = s.admin.Del(ctx, k[3]).Result()
	}
	require.NoError(t, err)
	require.EqualValues(t, 1, gone)
}

func (s *store) Snapshot(t testing.TB) (restore func()) {
	t.Helper()
	ctx := context.Background()
	zsets, hashes := map[string][]redis.Z{}, map[string]map[string]string{}
	all, err := s.admin.Keys(ctx, "*").Result()
	require.NoError(t, err)
	for _, key := range all {
		if strings.HasSuffix(key, ":lease") {
			zsets[key], err = s.admin.ZRangeWithScores(ctx, key, 0, -1).Result()
		} else {
			hashes[key], err = s.admin.HGetAll(ctx, key).Result()
		}
		require.NoError(t, err)
	}
	return func() {
		_, err := s.admin.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.FlushAll(ctx)
			for key, z := range zsets {
				p.ZAdd(ctx, key, z...)
			}
			for key, h := range hashes {
				p.HSet(ctx, key, h)
			}
			return nil
		})
		require.NoError(t, err)
	}
}

func (s *store) Reincarnate(t testing.TB) { s.reincarnate(t) }

func (s *store) Traits() leasetest.Traits { return s.traits }

// keys are lease, mark, owner and meta of a namespace.
func keys(namespace string) []string {
	var k []string
	for _, what := range []string{"lease", "mark", "owner", "meta"} {
		k = append(k, "snowlease:{"+namespace+"}:"+what)
	}
	return k
}

// request asks for one of four workers of the namespace "orders" for 30 s, as a keeper does.
func request(changes ...func(*lease.Request)) lease.Request {
	r := lease.Request{
		Namespace: "orders", Layout: "41/5/0/17@1577808000000/1ms", Holder: "app@host:1", Owner: lease.NewOwner(),
		Pool: 4, Last: 3, TTL: 30 * time.Second, MaxTTL: 30 * time.Second, Skew: 2 * time.Second, Ahead: 30*time.Second - 250*time.Millisecond,
	}
	for _, change := range changes {
		change(&r)
	}
	return r
}

// ttl makes all times of a request short, for tests that wait for them in truth.
func ttl(d time.Duration) func(*lease.Request) {
	return func(r *lease.Request) {
		r.TTL, r.MaxTTL, r.Skew = d, d, min(d/10, time.Second)
		r.Ahead = d - r.Skew/2
	}
}

// horizon is what all that q's center may have forgotten lies at or below.
func horizon(q *lease.QuarantineError) int64 { return q.Until.Add(request().Ahead).UnixMilli() - 1 }

func pool(n int64) func(*lease.Request) {
	return func(r *lease.Request) { r.Pool, r.Last = n, n-1 }
}

// opened initialises the namespace of request and returns a center.
func opened(t testing.TB, s *store, changes ...func(*lease.Request)) *redisseq.Center {
	t.Helper()
	c := s.center(t)
	require.NoError(t, c.Init(t.Context(), request(changes...)))
	return c
}

func acquire(t testing.TB, c lease.Center, changes ...func(*lease.Request)) lease.Grant {
	t.Helper()
	g, err := c.Acquire(t.Context(), request(changes...))
	require.NoError(t, err)
	return g
}

func renew(t testing.TB, c lease.Center, g lease.Grant) lease.Grant {
	t.Helper()
	r, err := c.Renew(t.Context(), g)
	require.NoError(t, err)
	return r
}

// records is all that the store holds, in a form to compare.
func (s *store) records(t testing.TB) map[string]any {
	t.Helper()
	ctx, all := t.Context(), map[string]any{}
	for _, key := range s.admin.Keys(ctx, "*").Val() {
		var err error
		switch s.admin.Type(ctx, key).Val() {
		case "zset":
			all[key], err = s.admin.ZRangeWithScores(ctx, key, 0, -1).Result()
		case "hash":
			all[key], err = s.admin.HGetAll(ctx, key).Result()
		case "list":
			all[key], err = s.admin.LRange(ctx, key, 0, -1).Result()
		default:
			all[key], err = s.admin.Get(ctx, key).Result()
		}
		require.NoError(t, err)
	}
	return all
}
