package redisseq

import (
	"fmt"
	"strings"
	"time"

	"github.com/snowlease/snowlease/redisseq/internal/conn"
)

// An Option of New, and of counter.New, segments.New and segments.NewDispenser.
type Option = conn.Option

// Quarantine says when a namespace lends only above what it may have forgotten. Missing
// records always start a quarantine.
type Quarantine string

const (
	// OnChange compares the run_id and master_replid of the server with those on record too.
	OnChange Quarantine = "on-change"
	// Never does not compare. It is for one server, or several, that lose no
	// acknowledged write: appendfsync always and no failover to a stale replica.
	Never Quarantine = conn.Never
)

// WithQuarantine sets when a quarantine starts. The default is OnChange.
func WithQuarantine(q Quarantine) Option {
	return func(c *conn.Conn) error {
		if q != OnChange && q != Never {
			return fmt.Errorf("redisseq: quarantine %q is neither %q nor %q", q, OnChange, Never)
		}
		c.Quarantine = string(q)
		return nil
	}
}

// WithPrefix sets what the keys start with. The default is "snowlease", which makes
// keys like snowlease:{ns}:lease. Members of a namespace must agree on it.
//
// 1 to 128 printable ASCII characters without spaces and braces, which would
// move the keys to several hash slots of a cluster.
func WithPrefix(prefix string) Option {
	return func(c *conn.Conn) error {
		odd := func(r rune) bool { return r <= ' ' || r > '~' || r == '{' || r == '}' }
		if prefix == "" || len(prefix) > 128 || strings.ContainsFunc(prefix, odd) {
			return fmt.Errorf("redisseq: prefix %q is not 1 to 128 printable ASCII characters without spaces and braces", prefix)
		}
		c.Prefix = prefix
		return nil
	}
}

// maxWait is the longest timeout of WithWaitReplicas: a keeper gives each call 2 s.
const maxWait = 2 * time.Second

// WithWaitReplicas hands out a grant, and so the ceiling that its holder may use, only
// when n replicas have answered that they have it (WAIT). Acquire and Renew wait for
// timeout at most, 1ms to 2s, and return ErrNotReplicated else. It stays one
// round trip. The default is 0: none.
//
// It is for two masters at once: a master that is cut off and goes on renewing while
// a replica is promoted hands out nothing that the promoted one does not know, if that
// is one of the n. With n the number of all replicas it always is, and without any of
// them nothing is lent; with fewer, the failover must choose the replica that knows
// most. WAIT is no consensus: what replicas have is in their memory, and a replica
// that loses its own data forgets what it has answered for.
//
// Release does not wait: if it is lost, the mark stays where it was, which is higher.
//
// It needs a *redis.Client or a *redis.ClusterClient with a ReadTimeout above timeout.
func WithWaitReplicas(n int, timeout time.Duration) Option {
	return func(c *conn.Conn) error {
		if n < 0 || n > 0 && (timeout < time.Millisecond || timeout > maxWait) {
			return fmt.Errorf("redisseq: WithWaitReplicas(%d, %v): give 0 replicas, or more and a timeout of 1ms to %v", n, timeout, maxWait)
		}
		c.Replicas, c.WaitTimeout = n, timeout
		return nil
	}
}
