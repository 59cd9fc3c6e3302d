package redisconn

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/snowlease/snowlease/internal/dsn"
	"github.com/snowlease/snowlease/internal/fault"
)

// poolSize is the number of connections of the Conn's own client, to each node of a cluster.
const poolSize = 2

// connect gives c its own client, with the options of the given one: the application may keep all
// connections of the given client busy, as in BLPOP, or let its Limiter refuse calls. Calls end
// with the deadlines of their contexts. If the options of the given client cannot be read, c
// shares that client.
func (c *Conn) connect(given redis.UniversalClient) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrClient}, args...)...)
	}
	if fault.Nil(given) {
		return refuse("it is nil: pass one, such as from redis.NewClient")
	}
	// A zero timeout means go-redis's default, even if the given client has none.
	notices := &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	switch client := given.(type) {
	case *redis.Client:
		o := *client.Options()
		c.addrs = []string{o.Addr}
		c.name = strings.ReplaceAll(fmt.Sprintf("redis %s db %d", dsn.Host(o.Addr), o.DB), "  ", " ")
		if o.Addr == "FailoverClient" { // set by NewFailoverClient
			c.name = fmt.Sprintf("redis by sentinel db %d", o.DB)
			o.ConnMaxLifetime = time.Second // only the given client learns of failovers; a new connection asks Sentinel
		}
		o.PoolSize, o.MaxActiveConns, o.MinIdleConns, o.PipelineReadBufferSize, o.PipelineWriteBufferSize = poolSize, poolSize, 0, 0, 0
		o.Limiter, o.ClientSideCache, o.ClientSideCacheConfig, o.MaintNotificationsConfig = nil, nil, nil, notices
		o.ContextTimeoutEnabled, o.ReadTimeout, o.DialerRetries = true, c.patient(o.ReadTimeout), 1
		if o.MaxRetries == 0 {
			o.MaxRetries = -1 // none
		}
		c.open = func() redis.UniversalClient { return redis.NewClient(&o) }
		return nil
	case *redis.ClusterClient:
		o := *client.Options()
		c.addrs, c.cluster = o.Addrs, true
		var hosts []string
		for _, addr := range slices.Sorted(slices.Values(o.Addrs)) {
			hosts = append(hosts, dsn.Host(addr))
		}
		c.name = strings.TrimRight("redis cluster "+strings.Join(hosts, ","), ", ")
		if o.ClusterSlots != nil { // set by NewFailoverClusterClient, whose client alone learns of failovers
			break
		}
		o.PoolSize, o.MaxActiveConns, o.MinIdleConns, o.PipelineReadBufferSize, o.PipelineWriteBufferSize = poolSize, poolSize, 0, 0, 0
		o.ReadOnly, o.RouteByLatency, o.RouteRandomly, o.MaintNotificationsConfig = false, false, false, notices // replicas may lack the latest grants
		o.ContextTimeoutEnabled, o.ReadTimeout, o.DialerRetries = true, c.patient(o.ReadTimeout), 1
		c.open = func() redis.UniversalClient {
			again := o // a copy, because NewClusterClient changes it
			return redis.NewClusterClient(&again)
		}
		return nil
	case *redis.Ring:
		return refuse("a *redis.Ring moves a namespace to another server when one does not answer, so two servers can lend the same worker ids: pass a *redis.Client for one of its servers, or a *redis.ClusterClient")
	}
	c.client, c.name = given, cmp.Or(c.name, fmt.Sprintf("redis (%T)", given))
	c.warnings = []string{fmt.Sprintf("redisseq: a %T cannot be copied, so its pool is shared: make sure that a connection is always free (ids stop if all wait, as in BLPOP), that it never reads from replicas, does not shard without a cluster, and has a read timeout", given)}
	if c.Replicas > 0 && !c.cluster {
		return refuse("%s: store.wait_replicas (redisseq.WithWaitReplicas) sends two commands on one connection: pass a *redis.Client or a *redis.ClusterClient", c.name)
	}
	return nil
}

// patient returns a ReadTimeout that is long enough for WAIT to answer.
func (c *Conn) patient(read time.Duration) time.Duration {
	if c.Replicas > 0 && read > 0 {
		read = max(read, c.WaitTimeout+time.Second)
	}
	return read
}
