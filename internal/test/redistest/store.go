// Package redistest provides Redis servers for tests: a store per test, and pairs that fail
// over.
package redistest

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
	"github.com/snowlease/snowlease/redisseq"
)

// A Store is the Redis of one test.
type Store struct {
	Addr        string
	Admin       *redis.Client
	Options     []redisseq.Option // for what runs on it
	StandsStill bool              // only Sleep moves its clock
	Run, Replid atomic.Int64      // of a miniredis
	Version     atomic.Value      // of a miniredis
	Restart     func(testing.TB)

	sleep func(time.Duration)
}

// NewMini returns a miniredis with a clock that only Sleep moves.
func NewMini(t testing.TB, options ...redisseq.Option) *Store {
	t.Helper()
	m := miniredis.NewMiniRedis()
	require.NoError(t, m.Start())
	t.Cleanup(m.Close)
	s := &Store{Addr: m.Addr(), Options: options, StandsStill: true}
	// INFO returns the incarnation as in Redis.
	s.Version.Store("7.2.4")
	m.Server().SetPreHook(func(c *server.Peer, cmd string, args ...string) bool {
		if version, _ := s.Version.Load().(string); cmd == "ZMSCORE" && (strings.HasPrefix(version, "5.") || strings.HasPrefix(version, "6.0.")) {
			c.WriteError("ERR Unknown Redis command called from script")
			return true
		}
		if cmd != "INFO" {
			return false
		}
		sections := map[string]string{
			"server":      fmt.Sprintf("# Server\r\nredis_version:%s\r\nrun_id:%040x\r\ntcp_port:1\r\n", s.Version.Load(), s.Run.Load()+1),
			"replication": fmt.Sprintf("# Replication\r\nrole:master\r\nmaster_replid:%040x\r\nmaster_replid2:%040x\r\n", s.Replid.Load()+1, 0),
		}
		if len(args) == 0 {
			c.WriteBulk(sections["server"] + sections["replication"])
			return true
		}
		if len(args) != 1 || sections[args[0]] == "" { // Redis 6.2 accepts one
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
	s.Restart = func(testing.TB) { s.Run.Add(1) }
	s.Admin = s.Client(t)
	return s
}

// NewReal returns a private Redis, which the test may kill and restart.
func NewReal(t testing.TB, options ...redisseq.Option) *Store {
	t.Helper()
	s, _ := StartReal(t, options...)
	return s
}

// StartReal is NewReal, and returns the server too.
func StartReal(t testing.TB, options ...redisseq.Option) (*Store, *testserver.Server) {
	t.Helper()
	srv := testserver.NewRedis(t)
	s := &Store{Addr: srv.Addr(), Options: options}
	s.sleep = time.Sleep
	if testserver.ClocksMove() {
		var mu sync.Mutex
		shift := time.Duration(0)
		s.sleep = func(d time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			shift += d
			srv.ShiftClock(shift)
		}
	}
	s.Admin = s.Client(t)
	s.Restart = func(t testing.TB) {
		// Redis 8 may still have the process that saved for a new replica.
		require.Eventually(t, func() bool { return s.Admin.Save(context.Background()).Err() == nil }, time.Minute, 10*time.Millisecond)
		srv.Kill()
		srv.Start()
	}
	return s, srv
}

// StartReplicated starts a Redis and a replica of it.
func StartReplicated(t testing.TB, options ...redisseq.Option) (s *Store, primary, replica *testserver.Server) {
	t.Helper()
	s, primary = StartReal(t, options...)
	return s, primary, testserver.NewRedisReplica(t, primary)
}

// At returns a store on another server.
func At(t testing.TB, srv *testserver.Server, options ...redisseq.Option) *Store {
	s := &Store{Addr: srv.Addr(), Options: options, sleep: time.Sleep}
	s.Admin = s.Client(t)
	return s
}

// Engines are the servers that most tests run on.
var Engines = map[string]func(testing.TB, ...redisseq.Option) *Store{"miniredis": NewMini, "redis": NewReal}

// EachEngine runs a test on each of Engines.
func EachEngine(t *testing.T, test func(t *testing.T, s *Store)) {
	for name, engine := range Engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, engine(t))
		})
	}
}

// Client returns a new client.
func (s *Store) Client(t testing.TB) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: s.Addr})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Sleep moves the clock, or sleeps with a Redis of which it cannot.
func (s *Store) Sleep(d time.Duration) { s.sleep(d) }

// Wipe deletes all data.
func (s *Store) Wipe(t testing.TB) { require.NoError(t, s.Admin.FlushAll(t.Context()).Err()) }

// Snapshot returns a function that restores the current data.
func (s *Store) Snapshot(t testing.TB) (restore func()) {
	t.Helper()
	ctx := context.Background()
	zsets, hashes := map[string][]redis.Z{}, map[string]map[string]string{}
	all, err := s.Admin.Keys(ctx, "*").Result()
	require.NoError(t, err)
	for _, key := range all {
		if strings.HasSuffix(key, ":lease") {
			zsets[key], err = s.Admin.ZRangeWithScores(ctx, key, 0, -1).Result()
		} else {
			hashes[key], err = s.Admin.HGetAll(ctx, key).Result()
		}
		require.NoError(t, err)
	}
	return func() {
		_, err := s.Admin.TxPipelined(ctx, func(p redis.Pipeliner) error {
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

// Reincarnate changes the incarnation and keeps the data.
func (s *Store) Reincarnate(t testing.TB) { s.Restart(t) }

// Records returns all data in a comparable form.
func (s *Store) Records(t testing.TB) map[string]any {
	t.Helper()
	ctx, all := t.Context(), map[string]any{}
	for _, key := range s.Admin.Keys(ctx, "*").Val() {
		var err error
		switch s.Admin.Type(ctx, key).Val() {
		case "zset":
			all[key], err = s.Admin.ZRangeWithScores(ctx, key, 0, -1).Result()
		case "hash":
			all[key], err = s.Admin.HGetAll(ctx, key).Result()
		case "list":
			all[key], err = s.Admin.LRange(ctx, key, 0, -1).Result()
		default:
			all[key], err = s.Admin.Get(ctx, key).Result()
		}
		require.NoError(t, err)
	}
	return all
}

// ClusterClient returns a client of a cluster.
func ClusterClient(t testing.TB, cluster *testserver.Cluster) *redis.ClusterClient {
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Addrs()})
	t.Cleanup(func() { _ = client.Close() })
	return client
}
