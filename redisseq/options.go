package redisseq

import (
	"fmt"
	"strings"
	"time"

	"github.com/snowlease/snowlease/internal/option"
	"github.com/snowlease/snowlease/internal/redisconn"
)

// An Option configures New, Numbers and Dispenser. A nil Option is ignored.
type Option interface{ set }

type set = redisconn.Option

// WithDurable declares that Redis loses no acknowledged write: with appendfsync always, and
// without failover to a stale replica. By default, a server whose run_id or master_replid differs
// from the recorded one starts a quarantine; for Numbers, it causes ErrChanged. If durable is
// true, only missing records do. All members of a namespace should use the same value.
func WithDurable(durable bool) Option {
	return option.Func[redisconn.Conn](func(c *redisconn.Conn) error {
		c.Durable = durable
		return nil
	})
}

// WithPrefix sets the prefix of the keys: 1 to 128 printable ASCII characters without spaces and
// braces. Braces would spread the keys over several hash slots of a cluster. The default is
// "snowlease", for keys such as snowlease:{ns}:lease. All members of a namespace must use the
// same prefix.
func WithPrefix(prefix string) Option {
	return option.Func[redisconn.Conn](func(c *redisconn.Conn) error {
		odd := func(r rune) bool { return r <= ' ' || r > '~' || r == '{' || r == '}' }
		if prefix == "" || len(prefix) > 128 || strings.ContainsFunc(prefix, odd) {
			return fmt.Errorf("redisseq: prefix %q is not 1 to 128 printable ASCII characters without spaces and braces", prefix)
		}
		c.Prefix = prefix
		return nil
	})
}

// maxWait is the longest timeout of WithWaitReplicas: a keeper gives each call 2 s.
const maxWait = 2 * time.Second

// WithWaitReplicas sets the number of replicas that must acknowledge a grant (WAIT) before it is
// used. Acquire and Renew wait for at most timeout, 1ms to 2s, and then return ErrNotReplicated.
// A call remains one round trip. The default is 0, which waits for none and ignores timeout.
//
// The option protects against split brain: a master that is cut off, and keeps renewing while a
// replica is promoted, grants nothing that fewer than n of its replicas have. Set n to the number
// of all replicas to be sure that the promoted replica is among them. Nothing is leased then
// while any of them is down. With a smaller n, the failover must promote the replica with the
// most data.
//
// WAIT is not consensus: replicas acknowledge data in memory, and a replica that loses its data
// forgets what it acknowledged.
//
// Release does not wait. If it is lost, the mark stays at its old, higher value.
//
// The client must be a *redis.Client or a *redis.ClusterClient that New need not share.
func WithWaitReplicas(n int, timeout time.Duration) Option {
	return option.Func[redisconn.Conn](func(c *redisconn.Conn) error {
		if n < 0 || n > 0 && (timeout < time.Millisecond || timeout > maxWait) {
			return fmt.Errorf("redisseq: WithWaitReplicas(%d, %v): give 0 replicas, or more and a timeout of 1ms to %v", n, timeout, maxWait)
		}
		c.Replicas, c.WaitTimeout = n, timeout
		return nil
	})
}
