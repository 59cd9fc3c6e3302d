package redisconn

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/internal/dsn"
)

// inspect names the client and refuses one that could break uniqueness or hang. It
// returns the client's ReadTimeout, or nil if it cannot read that.
func (c *Conn) inspect() (read *time.Duration, err error) {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrClient}, args...)...)
	}
	var heedsContext bool
	var write time.Duration
	switch client := c.client.(type) {
	case nil:
		return nil, refuse("it is nil: pass one, such as from redis.NewClient")
	case *redis.Client:
		if client == nil {
			return nil, refuse("it is a nil *redis.Client")
		}
		o := client.Options()
		c.Database, c.addrs = strconv.Itoa(o.DB), []string{o.Addr}
		c.name = strings.ReplaceAll(fmt.Sprintf("redis %s db %d", dsn.Host(o.Addr), o.DB), "  ", " ")
		if o.Addr == "FailoverClient" { // set by NewFailoverClient
			c.name = fmt.Sprintf("redis by sentinel db %d", o.DB)
		}
		heedsContext, read, write = o.ContextTimeoutEnabled, &o.ReadTimeout, o.WriteTimeout
	case *redis.ClusterClient:
		if client == nil {
			return nil, refuse("it is a nil *redis.ClusterClient")
		}
		o := client.Options()
		c.addrs = o.Addrs // none after NewFailoverClusterClient, whose slots come from a function
		var hosts []string
		for _, addr := range slices.Sorted(slices.Values(o.Addrs)) {
			hosts = append(hosts, dsn.Host(addr))
		}
		c.name = strings.TrimRight("redis cluster "+strings.Join(hosts, ","), ", ")
		if o.ReadOnly || o.RouteByLatency || o.RouteRandomly {
			return nil, refuse("%s: ReadOnly, RouteByLatency and RouteRandomly make it read from replicas, which may not know the latest grants: pass a client without them", c.name)
		}
		heedsContext, read, write = o.ContextTimeoutEnabled, &o.ReadTimeout, o.WriteTimeout
	case *redis.Ring:
		return nil, refuse("a *redis.Ring moves a namespace to another server when one does not answer, so two servers can lend the same worker ids: pass a *redis.Client for one of its servers, or a *redis.ClusterClient")
	default:
		c.name = fmt.Sprintf("redis (%T)", client)
		c.warnings = []string{fmt.Sprintf("redisseq: the settings of a %T cannot be read: make sure that it never reads from replicas, does not shard without a cluster, and has a read timeout", client)}
		return nil, nil
	}
	if !heedsContext && (*read <= 0 || write <= 0) {
		return nil, refuse("%s: it waits for replies forever, so a hanging server uses up its connections: set ReadTimeout and WriteTimeout, or ContextTimeoutEnabled", c.name)
	}
	return read, nil
}

// canWait refuses a client that cannot send WAIT on the connection of the script, or
// whose ReadTimeout read is too short.
func (c *Conn) canWait(read *time.Duration) error {
	switch {
	case c.Replicas == 0:
	case read == nil:
		return fmt.Errorf("%w: %s: store.wait_replicas (redisseq.WithWaitReplicas) sends two commands on one connection: pass a *redis.Client or a *redis.ClusterClient", ErrClient, c.name)
	case *read > 0 && c.WaitTimeout >= *read:
		return fmt.Errorf("%w: %s: store.wait_replicas (redisseq.WithWaitReplicas) waits for %v, but the client only waits %v for a reply: set a longer ReadTimeout", ErrClient, c.name, c.WaitTimeout, *read)
	}
	return nil
}
