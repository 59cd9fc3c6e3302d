package testserver

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	goredis "github.com/redis/go-redis/v9"
)

// SentinelName is the sentinels' name for their master.
const SentinelName = "main"

// Sentinels are a Redis master, two replicas and three sentinels. If two sentinels
// miss the master for a second, they promote a replica. A former master that starts
// again becomes a replica.
type Sentinels struct {
	Redis     []*Server // initially the first is the master
	Sentinels []*Server
	t         testing.TB
}

var sentinel = engine{
	name: "Redis Sentinel", pkg: redis.pkg, programs: redis.programs,
	create: func(s *Server) error {
		if err := os.Mkdir(s.data(), 0o700); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(s.data(), "sentinel.conf"), nil, 0o600) // they store their state in it
	},
	command: func(s *Server) []string {
		return []string{
			mustLookup("redis-server"), filepath.Join(s.data(), "sentinel.conf"), "--sentinel",
			"--bind", "127.0.0.1", "--port", strconv.Itoa(s.port), "--dir", s.data(),
		}
	},
	dsn:     redis.dsn,
	ping:    pingRedis,
	version: redisVersion,
	stop:    syscall.SIGTERM,
	discard: syscall.SIGKILL,
}

// NewSentinels starts Sentinels for this test. The arguments go to the master and the
// replicas.
func NewSentinels(t testing.TB, args ...string) *Sentinels {
	t.Helper()
	master := NewRedis(t, args...)
	s := &Sentinels{t: t, Redis: []*Server{master}}
	for range 2 {
		s.Redis = append(s.Redis, NewRedisReplica(t, master, args...))
	}
	for range 3 {
		s.Sentinels = append(s.Sentinels, newServer(t, &sentinel, nil))
	}
	within(t, func(ctx context.Context) error {
		for _, one := range s.Sentinels {
			if err := one.redis(func(c *goredis.Client) error {
				return errors.Join(
					c.Do(ctx, "SENTINEL", "MONITOR", SentinelName, "127.0.0.1", master.port, 2).Err(),
					c.Do(ctx, "SENTINEL", "SET", SentinelName, "down-after-milliseconds", 1000, "failover-timeout", 5000).Err())
			}); err != nil {
				return err
			}
		}
		return until(ctx, "the sentinels do not find each other and the replicas", func() (bool, error) {
			for i := range s.Sentinels {
				known, err := s.ask(ctx, i)
				if err != nil || known["num-other-sentinels"] != "2" || known["num-slaves"] != "2" {
					return false, err
				}
			}
			return true, nil
		})
	})
	return s
}

// Addrs returns the addresses of the sentinels.
func (s *Sentinels) Addrs() []string { return addrs(s.Sentinels) }

// Master returns the master, once all running sentinels agree.
func (s *Sentinels) Master() *Server {
	s.t.Helper()
	var master *Server
	within(s.t, func(ctx context.Context) error {
		return until(ctx, "the sentinels do not agree on a master", func() (bool, error) {
			found := map[string]bool{}
			for i, one := range s.Sentinels {
				if !one.answers() {
					continue
				}
				known, err := s.ask(ctx, i)
				if err != nil {
					return false, err
				}
				found[known["port"]] = true
			}
			for _, one := range s.Redis {
				if found[strconv.Itoa(one.port)] {
					master = one
				}
			}
			return len(found) == 1 && master != nil, nil
		})
	})
	return master
}

// ask returns what a sentinel knows about the master.
func (s *Sentinels) ask(ctx context.Context, i int) (known map[string]string, err error) {
	c := goredis.NewSentinelClient(&goredis.Options{Addr: s.Sentinels[i].Addr(), DisableIdentity: true})
	known, err = c.Master(ctx, SentinelName).Result()
	return known, errors.Join(err, c.Close())
}

// within fails the test unless f succeeds within the start timeout of a server.
func within(t testing.TB, f func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := f(ctx); err != nil {
		t.Fatalf("testserver: %v", err)
	}
}

func addrs(servers []*Server) []string {
	all := make([]string, len(servers))
	for i, s := range servers {
		all[i] = s.Addr()
	}
	return all
}
