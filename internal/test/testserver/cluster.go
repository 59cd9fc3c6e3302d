package testserver

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"

	goredis "github.com/redis/go-redis/v9"
)

// A Cluster is a Redis Cluster of three masters, each with a third of the hash slots
// and one replica. The replica replaces a master that is down for two seconds. A
// former master that starts again becomes a replica.
type Cluster struct {
	Nodes []*Server // initially three masters, then their replicas
	t     testing.TB
}

const (
	clusterMasters = 3
	clusterSlots   = 16384
)

// node is a Redis that talks to other nodes at its port plus 10,000.
var node = func() engine {
	e := redis
	e.name, e.beside, e.replication = "Redis Cluster", []int{10000}, nil
	e.command = func(s *Server) []string {
		return append(redis.command(s), "--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-replica-validity-factor", "0")
	}
	return e
}()

// NewCluster starts a Redis Cluster for this test. The arguments go to all nodes.
func NewCluster(t testing.TB, args ...string) *Cluster {
	t.Helper()
	c := &Cluster{t: t}
	for range 2 * clusterMasters {
		c.Nodes = append(c.Nodes, newServer(t, &node, args))
	}
	within(t, func(ctx context.Context) error {
		ids := make([]string, len(c.Nodes))
		for i, n := range c.Nodes {
			if err := n.redis(func(r *goredis.Client) (err error) {
				if ids[i], err = r.Do(ctx, "CLUSTER", "MYID").Text(); err != nil {
					return err
				}
				if i < clusterMasters {
					err = r.ClusterAddSlotsRange(ctx, i*clusterSlots/clusterMasters, (i+1)*clusterSlots/clusterMasters-1).Err()
				}
				err = errors.Join(err, r.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err())
				for _, other := range c.Nodes[:i] { // gossip would take longer
					err = errors.Join(err, r.ClusterMeet(ctx, "127.0.0.1", strconv.Itoa(other.port)).Err())
				}
				return err
			}); err != nil {
				return err
			}
		}
		for i, n := range c.Nodes[clusterMasters:] {
			if err := n.redis(func(r *goredis.Client) error {
				// It may not know its master yet.
				return until(ctx, "a replica finds no master", func() (bool, error) {
					err := r.ClusterReplicate(ctx, ids[i]).Err()
					return err == nil, err
				})
			}); err != nil {
				return err
			}
		}
		return until(ctx, "the nodes do not agree", func() (bool, error) { return c.settled(ctx) })
	})
	return c
}

// settled reports whether every node sees all slots served, each by a master with a
// replica in sync.
func (c *Cluster) settled(ctx context.Context) (bool, error) {
	for _, n := range c.Nodes {
		ok := false
		if err := n.redis(func(r *goredis.Client) error {
			info, err1 := r.InfoMap(ctx, "replication").Result()
			cluster, err2 := r.ClusterInfo(ctx).Result()
			slots, err3 := clusterSlotsOf(ctx, r)
			ok = len(cluster) > 16 && cluster[:16] == "cluster_state:ok" && len(slots) == clusterMasters
			for _, s := range slots {
				ok = ok && len(s.Nodes) == 2
			}
			link := info["Replication"]["master_link_status"]
			ok = ok && (link == "" || link == "up")
			return errors.Join(err1, err2, err3)
		}); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

func clusterSlotsOf(ctx context.Context, r *goredis.Client) ([]goredis.ClusterSlot, error) {
	return r.ClusterSlots(ctx).Result() //nolint:staticcheck // ClusterShards needs Redis 7, but 6.2 is supported
}

// Addrs returns the addresses of the nodes.
func (c *Cluster) Addrs() []string { return addrs(c.Nodes) }

// Master returns the node that serves a key, once all nodes that run and are not paused agree.
func (c *Cluster) Master(key string) *Server {
	c.t.Helper()
	var master *Server
	within(c.t, func(ctx context.Context) error {
		return until(ctx, "the nodes do not agree on the master of a slot", func() (agreed bool, err error) {
			master, agreed, err = c.master(ctx, key)
			return agreed, err
		})
	})
	return master
}

func (c *Cluster) master(ctx context.Context, key string) (master *Server, agreed bool, err error) {
	found := map[string]bool{}
	for _, n := range c.Nodes {
		if !n.answers() {
			continue
		}
		if err := n.redis(func(r *goredis.Client) error {
			slot, err1 := r.ClusterKeySlot(ctx, key).Result()
			slots, err2 := clusterSlotsOf(ctx, r)
			for _, s := range slots {
				if int(slot) >= s.Start && int(slot) <= s.End && len(s.Nodes) > 0 {
					found[s.Nodes[0].Addr] = true
				}
			}
			return errors.Join(err1, err2)
		}); err != nil {
			return nil, false, err
		}
	}
	for _, n := range c.Nodes {
		if found[n.Addr()] {
			master = n
		}
	}
	return master, len(found) == 1 && master != nil, nil
}

// Move gives the hash slot of a key, with all its keys, to another master. It calls during
// when the keys have moved but the slot has not, so clients are redirected with ASK.
func (c *Cluster) Move(key string, to *Server, during ...func()) {
	c.t.Helper()
	from := c.Master(key)
	within(c.t, func(ctx context.Context) error {
		return from.redis(func(f *goredis.Client) error {
			return to.redis(func(t *goredis.Client) error { return move(ctx, key, f, t, to.port, during) })
		})
	})
	if now := c.Master(key); now != to {
		c.t.Fatalf("testserver: the slot of %s is at %s, not at %s", key, now.Addr(), to.Addr())
	}
}

func move(ctx context.Context, key string, from, to *goredis.Client, port int, during []func()) error {
	slot, err := from.ClusterKeySlot(ctx, key).Result()
	if err != nil {
		return err
	}
	source, err1 := from.Do(ctx, "CLUSTER", "MYID").Text()
	target, err2 := to.Do(ctx, "CLUSTER", "MYID").Text()
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	set := func(c *goredis.Client, what, id string) error {
		return c.Do(ctx, "CLUSTER", "SETSLOT", slot, what, id).Err()
	}
	if err := set(to, "IMPORTING", source); err != nil {
		return err
	}
	if err := set(from, "MIGRATING", target); err != nil {
		return err
	}
	for {
		keys, err := from.ClusterGetKeysInSlot(ctx, int(slot), 100).Result()
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			break
		}
		args := []any{"MIGRATE", "127.0.0.1", port, "", 0, 10000, "KEYS"}
		for _, k := range keys {
			args = append(args, k)
		}
		if err := from.Do(ctx, args...).Err(); err != nil {
			return fmt.Errorf("MIGRATE: %w", err)
		}
	}
	for _, f := range during {
		f()
	}
	return errors.Join(set(to, "NODE", target), set(from, "NODE", target))
}
