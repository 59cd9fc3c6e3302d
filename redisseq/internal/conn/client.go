package conn

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// inspect names a client and refuses one whose settings break the promise.
func inspect(client redis.UniversalClient) (name string, warnings []string, err error) {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrClient}, args...)...)
	}
	switch client := client.(type) {
	case nil:
		return "", nil, refuse("it is nil: pass a client, from redis.NewClient for example")
	case *redis.Client:
		if client == nil {
			return "", nil, refuse("it is a nil *redis.Client")
		}
		o := client.Options()
		name = fmt.Sprintf("redis %s db %d", o.Addr, o.DB)
		if o.Addr == "FailoverClient" { // what NewFailoverClient sets
			name = fmt.Sprintf("redis by sentinel db %d", o.DB)
		}
		if waitsForever(o.ContextTimeoutEnabled, o.ReadTimeout, o.WriteTimeout) {
			return "", nil, refuse(noTimeout, name)
		}
	case *redis.ClusterClient:
		if client == nil {
			return "", nil, refuse("it is a nil *redis.ClusterClient")
		}
		o := client.Options()
		name = "redis cluster " + strings.Join(slices.Sorted(slices.Values(o.Addrs)), ",")
		if len(o.Addrs) == 0 { // slots come from a function: NewFailoverClusterClient
			name = "redis cluster"
		}
		if o.ReadOnly || o.RouteByLatency || o.RouteRandomly {
			return "", nil, refuse("%s: ReadOnly, RouteByLatency and RouteRandomly let it read from replicas, which may not know the latest grants: pass a client without them", name)
		}
		if waitsForever(o.ContextTimeoutEnabled, o.ReadTimeout, o.WriteTimeout) {
			return "", nil, refuse(noTimeout, name)
		}
	case *redis.Ring:
		return "", nil, refuse("a *redis.Ring moves a namespace to another server when one does not answer, so that two servers lend the same worker ids: pass a *redis.Client for one of its servers, or a Cluster")
	default:
		name = fmt.Sprintf("redis (%T)", client)
		warnings = append(warnings, fmt.Sprintf("redisseq: the settings of a %T cannot be read: make sure that it never reads from replicas, does not shard without a cluster, and has a read timeout", client))
	}
	return name, warnings, nil
}

// canWait refuses a client that WAIT cannot be sent by as WithWaitReplicas needs it.
func (c *Conn) canWait() error {
	if c.Replicas == 0 {
		return nil
	}
	var read time.Duration
	switch client := c.client.(type) {
	case *redis.Client:
		read = client.Options().ReadTimeout
	case *redis.ClusterClient:
		read = client.Options().ReadTimeout
	default:
		return fmt.Errorf("%w: %s: WithWaitReplicas sends two commands on one connection: pass a *redis.Client or a *redis.ClusterClient", ErrClient, c.name)
	}
	if read > 0 && c.WaitTimeout >= read {
		return fmt.Errorf("%w: %s: WithWaitReplicas waits for %v, and the client for a reply for %v only: set a longer ReadTimeout", ErrClient, c.name, c.WaitTimeout, read)
	}
	return nil
}

const noTimeout = "%s: it waits for replies without end, so that a server that hangs uses up its connections: set ReadTimeout and WriteTimeout, or ContextTimeoutEnabled"

func waitsForever(heedsContext bool, read, write time.Duration) bool {
	return !heedsContext && (read <= 0 || write <= 0)
}
