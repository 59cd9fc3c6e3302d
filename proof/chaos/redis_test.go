package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
)

// durable are the arguments of a Redis that loses nothing that it has acknowledged.
var durable = []string{"--appendonly", "yes", "--appendfsync", "always"}

func key(name string) string { return "snowlease:{" + namespace + "}:" + name }

// leaseKeys are the keys of a center. Those of each worker id come first.
func leaseKeys() []string { return []string{key("lease"), key("mark"), key("owner"), key("meta")} }

// on runs f with a client of a server.
func on(s *testserver.Server, f func(*redis.Client) error) error {
	c := redis.NewClient(&redis.Options{Addr: s.Addr(), DialTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second})
	return errors.Join(f(c), c.Close())
}

// newSingle is a Redis that keeps its data, and a replica that takes over.
func newSingle(t *testing.T) *arena {
	primary := testserver.NewRedis(t, durable...)
	replica := testserver.NewRedisReplica(t, primary, durable...)
	at := primary.Addr() // the processes' address for the primary, whichever server it is
	n := newNetwork(t, at)
	a := &arena{
		network: n, share: 40, keys: leaseKeys(), tell: leaseKeys()[1:],
		store: func(group int) store {
			return store{Kind: single, Addrs: []string{at}, Routes: n.routes(group)}
		},
		clock: &clock{servers: func() []*testserver.Server { return []*testserver.Server{primary, replica} }},
	}
	a.direct = func() store { return store{Kind: single, Addrs: []string{primary.Addr()}} }
	restart := func(name string, wipe bool) fault {
		return fault{name, func(ctx context.Context, random *rand.Rand) error {
			if wipe {
				a.clock.ready(ctx)
			}
			primary.Kill()
			if wipe {
				primary.Wipe()
			}
			pause(ctx, time.Duration(random.Int64N(int64(1500*time.Millisecond))))
			primary.Start()
			return nil
		}}
	}
	a.faults = append(a.redisFaults(func() *testserver.Server { return primary }, time.Minute),
		restart("Redis killed and restarted with its data", false),
		restart("Redis killed and restarted without its data", true),
		fault{"Redis restarted without its data, its clock stepped back within the skew", func(ctx context.Context, random *rand.Rand) error {
			return a.clock.across(ctx, random, func() error {
				primary.Kill()
				primary.Wipe()
				return nil
			}, func() error {
				primary.Start()
				return nil
			})
		}},
		fault{"replica promoted whose link was cut", func(ctx context.Context, random *rand.Rand) error {
			a.clock.ready(ctx)
			replica.CutLink()
			pause(ctx, a.lag(3*time.Second, random.Float64()))
			primary.Kill() // never two primaries
			replica.Promote()
			if err := n.lead(at, replica.Addr()); err != nil {
				return err
			}
			a.back = time.Now()
			primary.Start()
			primary.Follow(replica)
			primary, replica = replica, primary
			return nil
		}},
		fault{"Redis hangs", func(ctx context.Context, random *rand.Rand) error {
			primary.Pause()
			short(ctx, random)
			primary.Resume()
			return nil
		}},
		fault{"keys evicted", func(ctx context.Context, _ *rand.Rand) error {
			a.clock.ready(ctx)
			return on(primary, func(c *redis.Client) error { return evict(ctx, c, a.keys) })
		}},
	)
	return a
}

// redisFaults are faults of any Redis.
func (a *arena) redisFaults(primary func() *testserver.Server, forward time.Duration) []fault {
	do := func(name string, f func(context.Context, *rand.Rand, *redis.Client) error) fault {
		return fault{name, func(ctx context.Context, random *rand.Rand) error {
			a.clock.ready(ctx)
			return on(primary(), func(c *redis.Client) error { return f(ctx, random, c) })
		}}
	}
	return append(a.clock.faults(forward, a.noticed),
		do("FLUSHALL", func(ctx context.Context, _ *rand.Rand, c *redis.Client) error {
			return c.FlushAll(ctx).Err()
		}),
		do("keys deleted", func(ctx context.Context, random *rand.Rand, c *redis.Client) error {
			some, err := a.lose(ctx, sample(random, a.keys)...)
			return cmp.Or(err, c.Del(ctx, some...).Err())
		}),
		do("fields of records deleted, at times the record of the namespace too", func(ctx context.Context, random *rand.Rand, c *redis.Client) error {
			if a.streams != nil {
				return c.HDel(ctx, key("sequence"), sample(random, []string{"pin", "run", "quar", "tick", "seq", "seen", "at"})...).Err()
			}
			var err error
			if random.IntN(2) == 0 {
				_, err = a.lose(ctx, key("meta"))
				err = cmp.Or(err, c.Del(ctx, key("meta")).Err())
			} else {
				a.parts++
			}
			all := leaseKeys()
			for range 1 + random.IntN(workers) {
				worker := fmt.Sprint(random.IntN(workers))
				if i := random.IntN(3); i == 0 {
					err = cmp.Or(err, c.ZRem(ctx, all[i], worker).Err())
				} else {
					err = cmp.Or(err, c.HDel(ctx, all[i], worker).Err())
				}
			}
			return err
		}),
	)
}

// sample returns at least one of all, in any order.
func sample(random *rand.Rand, all []string) []string {
	some := slices.Clone(all)
	random.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
	return some[:1+random.IntN(len(some))]
}

// evict keeps the memory full for a while, and until one of the keys was evicted.
func evict(ctx context.Context, c *redis.Client, keys []string) error {
	set := func(key, value string) error { return c.ConfigSet(ctx, key, value).Err() }
	if err := errors.Join(set("maxmemory-policy", "allkeys-lru"), set("maxmemory", "1")); err != nil {
		return err
	}
	filler, gone := make([]byte, 10_000), false
	for i, began := 0, time.Now(); ; i++ {
		c.Set(ctx, fmt.Sprint("filler", i), filler, time.Minute) // refused, or evicted in turn
		n, err := c.Exists(ctx, keys...).Result()
		gone = gone || n < int64(len(keys))
		if err != nil || gone && time.Since(began) > time.Second {
			return errors.Join(err, set("maxmemory", "0"), set("maxmemory-policy", "noeviction"))
		}
	}
}

// noticed returns once the center has checked its records, so that it has noticed any loss.
func (a *arena) noticed(ctx context.Context) error {
	if a.noticedBy != nil {
		return a.noticedBy(ctx)
	}
	least, _ := a.crew.differ()
	g := lease.Grant{Request: least.of(request())}
	g.Owner = lease.NewOwner() // an owner without a lease
	return a.ask(func(c lease.Center) (err error) {
		for ; ctx.Err() == nil; pause(ctx, 50*time.Millisecond) {
			if _, err = c.Renew(ctx, g); errors.Is(err, lease.ErrLost) || errors.As(err, new(*lease.QuarantineError)) {
				return nil
			}
		}
		return err
	})
}

// newSentinel is a master with two replicas, and sentinels that replace it. It keeps
// no data: a server that returns takes the data of the new master.
func newSentinel(t *testing.T) *arena {
	s := testserver.NewSentinels(t)
	for _, one := range s.Sentinels {
		// A live master must not be declared down on a busy machine, or there would be two.
		require.NoError(t, on(one, func(c *redis.Client) error {
			return c.Do(t.Context(), "SENTINEL", "SET", mainName, "down-after-milliseconds", patience.Milliseconds()).Err()
		}))
	}
	return newFailover(t, 30, append(s.Addrs(), addrs(s.Redis)...), store{Kind: sentinel, Addrs: s.Addrs()}, s.Redis, s.Master,
		promoted)
}

// newCluster is three masters, each with a replica that can replace it.
func newCluster(t *testing.T) *arena {
	c := testserver.NewCluster(t, "--cluster-node-timeout", fmt.Sprint(patience.Milliseconds()))
	master := func() *testserver.Server { return c.Master(key("")) }
	a := newFailover(t, 30, c.Addrs(), store{Kind: cluster, Addrs: c.Addrs()}, c.Nodes, master,
		takenOver)
	a.faults = append(a.faults, fault{"hash slot moved to another master", func(ctx context.Context, random *rand.Rand) error {
		from := master()
		for {
			if to := c.Master(fmt.Sprint(random.Uint64())); to != from {
				c.Move(key(""), to)
				return following(ctx, c.Nodes)
			}
		}
	}})
	return a
}

// patience is how long a master must be down to be replaced.
const patience = 4 * time.Second

// newFailover is an arena whose servers elect their master.
func newFailover(t *testing.T, share int, all []string, s store, servers []*testserver.Server, master func() *testserver.Server, failover string) *arena {
	n := newNetwork(t, all...)
	a := &arena{
		network: n, share: share, keys: leaseKeys(), tell: leaseKeys()[1:], direct: func() store { return s },
		store: func(group int) store {
			s := s
			s.Routes = n.routes(group)
			return s
		},
		clock: &clock{servers: func() []*testserver.Server { return servers }},
	}
	// Servers take a clock step longer than their patience for a master that is down.
	a.faults = append(a.redisFaults(master, patience/2),
		fault{failover, func(ctx context.Context, random *rand.Rand) error {
			a.clock.ready(ctx)
			old := master()
			replicas := others(servers, old)
			if err := link(ctx, replicas, "nobody", old); err != nil {
				return err
			}
			pause(ctx, a.lag(3*time.Second, random.Float64()))
			old.Kill()
			if err := link(ctx, replicas, ""); err != nil {
				return err
			}
			for master() == old {
				pause(ctx, 50*time.Millisecond)
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
			}
			err := serving(ctx, master())
			a.back = time.Now()
			pause(ctx, time.Duration(random.Int64N(int64(ttl))))
			old.Start()
			return errors.Join(err, following(ctx, servers))
		}},
		fault{"master restarted without its data before it is replaced", func(ctx context.Context, _ *rand.Rand) error {
			a.clock.ready(ctx)
			old := master()
			old.Kill()
			old.Start()
			err := serving(ctx, old)
			a.back = time.Now()
			return errors.Join(err, following(ctx, servers))
		}},
		fault{"master hangs", func(ctx context.Context, random *rand.Rand) error {
			old := master()
			old.Pause()
			pause(ctx, time.Duration(random.Int64N(int64(patience/2))))
			old.Resume()
			return nil
		}},
	)
	return a
}

// The failovers. The links of the replicas are cut before, so they lag.
const (
	promoted  = "master killed, sentinels promote a replica that lags"
	takenOver = "master killed, its replica, which lags, takes over"
)

// link sets the user, with the same password, as whom replicas log in to their masters,
// and ends the links to masters. A link to a master without that user stays down.
func link(ctx context.Context, replicas []*testserver.Server, user string, masters ...*testserver.Server) error {
	err := onEach(replicas, func(s *testserver.Server) error {
		return on(s, func(c *redis.Client) error {
			return errors.Join(c.ConfigSet(ctx, "masteruser", user).Err(), c.ConfigSet(ctx, "masterauth", user).Err())
		})
	})
	return errors.Join(err, onEach(masters, func(s *testserver.Server) error {
		return on(s, func(c *redis.Client) error { return c.ClientKillByFilter(ctx, "TYPE", "replica").Err() })
	}))
}

// serving returns when a master has joined its cluster, if it has one.
func serving(ctx context.Context, master *testserver.Server) error {
	return on(master, func(c *redis.Client) error {
		for {
			err := c.Exists(ctx, key("")).Err()
			if !redis.HasErrorPrefix(err, "CLUSTERDOWN") {
				return err
			}
			pause(ctx, 50*time.Millisecond)
		}
	})
}

// following returns when all servers but the masters have the data of their master.
func following(ctx context.Context, servers []*testserver.Server) error {
	return onEach(servers, func(s *testserver.Server) error {
		return on(s, func(c *redis.Client) error {
			for {
				info, err := c.InfoMap(ctx, "replication").Result()
				r := info["Replication"]
				if err != nil || r["master_link_status"] == "up" || r["role"] == "master" && r["connected_slaves"] != "0" {
					return err
				}
				pause(ctx, 50*time.Millisecond)
			}
		})
	})
}

func addrs(servers []*testserver.Server) (all []string) {
	for _, s := range servers {
		all = append(all, s.Addr())
	}
	return all
}
