package redisconn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// answered is the reply of a script and the number of replicas that acknowledged its writes.
type answered struct {
	reply    any
	replicas int64
}

// runAndWait runs a script and WAIT in one round trip. Both use one connection, because
// WAIT counts the writes of its own connection.
func (c *Conn) runAndWait(ctx context.Context, script *redis.Script, keys []string, args []any) (r answered, err error) {
	node, err := c.Node(ctx, keys[0])
	asking := false
	for range 3 { // while a slot moves, two servers may answer for it
		if err != nil {
			return answered{}, err
		}
		r, err = c.pipeline(ctx, node, asking, script, keys, args)
		moved, _ := redis.IsMovedError(err)
		ask, _ := redis.IsAskError(err)
		switch {
		case moved != "":
			asking = false
			node, err = c.nodeAt(ctx, moved)
		case ask != "":
			asking = true
			node, err = c.nodeAt(ctx, ask)
		default:
			return r, err
		}
	}
	return answered{}, fmt.Errorf("the hash slot of %s moves between servers: try again", keys[0])
}

func (c *Conn) pipeline(ctx context.Context, node redis.UniversalClient, asking bool, script *redis.Script, keys []string, args []any) (answered, error) {
	timeout := c.WaitTimeout
	if end, ok := ctx.Deadline(); ok {
		timeout = max(time.Millisecond, min(timeout, time.Until(end))) // 0 would wait forever
	}
	exec := func(eval func(context.Context, redis.Scripter, []string, ...any) *redis.Cmd) (answered, error) {
		p := node.Pipeline()
		if asking {
			p.Do(ctx, "ASKING")
		}
		ran, waited := eval(ctx, p, keys, args...), p.Do(ctx, "WAIT", c.Replicas, timeout.Milliseconds())
		_, _ = p.Exec(ctx) // each command has its own error
		if err := ran.Err(); err != nil {
			return answered{}, err
		}
		replicas, err := waited.Int64()
		if err != nil {
			return answered{}, fmt.Errorf("WAIT: %w", err)
		}
		return answered{ran.Val(), replicas}, nil
	}
	r, err := exec(script.EvalSha)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		r, err = exec(script.Eval)
	}
	return r, err
}

// Node returns a client of the server that holds a key.
func (c *Conn) Node(ctx context.Context, key string) (redis.UniversalClient, error) {
	if cluster, ok := c.server().(*redis.ClusterClient); ok {
		node, err := cluster.MasterForKey(ctx, key)
		if err != nil {
			return nil, err // so as not to return a nil *redis.Client
		}
		return node, nil
	}
	return c.server(), nil
}

// Cluster reports whether the client is a cluster client.
func (c *Conn) Cluster() bool { return c.cluster }

// nodeAt returns a client of the master at an address that another server named.
func (c *Conn) nodeAt(ctx context.Context, addr string) (redis.UniversalClient, error) {
	cluster, ok := c.server().(*redis.ClusterClient)
	if !ok {
		return nil, fmt.Errorf("the server is a node of a cluster and redirects to %s: pass a *redis.ClusterClient", addr)
	}
	var mu sync.Mutex
	var found redis.UniversalClient
	// ForEachMaster reloads the list of masters.
	err := cluster.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		if node.Options().Addr == addr {
			found = node
		}
		return nil
	})
	if err == nil && found == nil {
		err = fmt.Errorf("no master of the cluster is at %s: try again", addr)
	}
	return found, err
}

// refresh makes a cluster client reload the list of masters after one did not answer. On its own,
// the client does so once a minute, which is longer than a lease.
func (c *Conn) refresh(ctx context.Context, err error) {
	if cluster, ok := c.server().(*redis.ClusterClient); ok && err != nil && !errors.As(err, new(redis.Error)) {
		cluster.ReloadState(ctx)
	}
}
