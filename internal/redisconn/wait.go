package redisconn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// runAndWait runs a script and WAIT in one round trip. Both use one connection, because
// WAIT counts the writes of its own connection.
func (c *Conn) runAndWait(ctx context.Context, script *redis.Script, keys []string, args []any) (out answered) {
	node, err := c.Node(ctx, keys[0])
	asking := false
	for range 3 { // while a slot moves, two servers may answer for it
		if err != nil {
			return answered{err: err}
		}
		out = c.pipeline(ctx, node, asking, script, keys, args)
		moved, _ := redis.IsMovedError(out.err)
		ask, _ := redis.IsAskError(out.err)
		cluster, ok := c.server().(*redis.ClusterClient)
		if !ok || moved == ask {
			return out
		}
		asking = ask != ""
		node, err = masterAt(ctx, cluster, cmp.Or(moved, ask))
	}
	return answered{err: fmt.Errorf("the hash slot of %s moves between servers: try again", keys[0])}
}

func (c *Conn) pipeline(ctx context.Context, node redis.UniversalClient, asking bool, script *redis.Script, keys []string, args []any) answered {
	end, _ := ctx.Deadline()
	timeout := max(time.Millisecond, min(c.WaitTimeout, time.Until(end))) // 0 would wait forever
	exec := func(eval func(context.Context, redis.Scripter, []string, ...any) *redis.Cmd) answered {
		p := node.Pipeline()
		if asking {
			p.Do(ctx, "ASKING")
		}
		ran, waited := eval(ctx, p, keys, args...), p.Do(ctx, "WAIT", c.Replicas, timeout.Milliseconds())
		_, _ = p.Exec(ctx) // each command has its own error
		if err := ran.Err(); err != nil {
			return answered{err: err}
		}
		replicas, err := waited.Int64()
		if err != nil {
			err = fmt.Errorf("WAIT: %w", err)
		}
		return answered{ran.Val(), replicas, err}
	}
	out := exec(script.EvalSha)
	if redis.HasErrorPrefix(out.err, "NOSCRIPT") {
		out = exec(script.Eval)
	}
	return out
}

// Node returns a client of the server that holds a key.
func (c *Conn) Node(ctx context.Context, key string) (redis.UniversalClient, error) {
	if cluster, ok := c.server().(*redis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, key)
	}
	return c.server(), nil
}

// Cluster reports whether the client is a cluster client.
func (c *Conn) Cluster() bool { return c.cluster }

// masterAt returns a client of the master at an address that another server named.
func masterAt(ctx context.Context, cluster *redis.ClusterClient, addr string) (redis.UniversalClient, error) {
	var found atomic.Pointer[redis.Client]
	// ForEachMaster reloads the list of masters.
	err := cluster.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
		if node.Options().Addr == addr {
			found.Store(node)
		}
		return nil
	})
	if err == nil && found.Load() == nil {
		err = fmt.Errorf("no master of the cluster is at %s: try again", addr)
	}
	return found.Load(), err
}

// refresh lets the next call find a server after one did not answer. A cluster client reloads the
// list of masters, which it does once a minute on its own: longer than a lease. Another client is
// opened again after a failed dial, if no other call uses it: after two of them, go-redis tries to
// dial only once a second.
func (c *Conn) refresh(ctx context.Context, err error) {
	if err == nil || errors.As(err, new(redis.Error)) {
		return
	}
	c.mu.Lock()
	client := c.client // nil after Close, if it is the Conn's own
	c.mu.Unlock()
	var failed *net.OpError
	if cluster, ok := client.(*redis.ClusterClient); ok {
		cluster.ReloadState(ctx)
	} else if errors.As(err, &failed) && failed.Op == "dial" && c.calls.TryLock() {
		_ = c.Close()
		c.calls.Unlock()
	}
}
