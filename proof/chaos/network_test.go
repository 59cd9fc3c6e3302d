package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/testserver"
)

// A network is the proxies between groups of processes and servers. Each group has its
// own proxy for each server.
type network struct {
	groups []map[string]*toxiproxy.Proxy // by the server's original address
}

func newNetwork(t *testing.T, servers ...string) *network {
	api, n := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()), &network{}
	t.Cleanup(n.close)
	for range groups {
		proxies := map[string]*toxiproxy.Proxy{}
		n.groups = append(n.groups, proxies)
		for _, server := range servers {
			addr := fmt.Sprintf("127.0.0.1:%d", testserver.Port(t))
			p := toxiproxy.NewProxy(api, addr, addr, server)
			require.NoError(t, p.Start())
			proxies[server] = p
		}
	}
	return n
}

// routes maps servers to the proxies of a group.
func (n *network) routes(group int) map[string]string {
	routes := map[string]string{}
	for addr, p := range n.groups[group] {
		routes[addr] = p.Listen
	}
	return routes
}

// lead redirects what led to one server to another.
func (n *network) lead(from, to string) (err error) {
	for _, proxies := range n.groups {
		p := proxies[from]
		err = errors.Join(err, p.Update(&toxiproxy.Proxy{Listen: p.Listen, Upstream: to}), restart(p))
	}
	return err
}

func (n *network) close() {
	for _, proxies := range n.groups {
		for _, p := range proxies {
			p.Stop()
		}
	}
}

// some returns the proxies of some groups, and at times of all.
func (n *network) some(random *rand.Rand) (some []*toxiproxy.Proxy) {
	first, count := random.IntN(len(n.groups)), 1+random.IntN(len(n.groups))
	for i := range count {
		for _, p := range n.groups[(first+i)%len(n.groups)] {
			some = append(some, p)
		}
	}
	return some
}

// faults are the faults of a network. Those that leave connections open last long
// enough for calls to reach their deadlines.
func (n *network) faults() []fault {
	if n.groups == nil {
		return nil
	}
	between := func(random *rand.Rand, from, to time.Duration) time.Duration {
		return from + time.Duration(random.Int64N(int64(to-from)))
	}
	toxic := func(name, kind string, last time.Duration, attributes func(*rand.Rand) map[string]any, streams ...string) fault {
		return fault{name, func(ctx context.Context, random *rand.Rand) error {
			some, settings := n.some(random), attributes(random)
			err := onEach(some, func(p *toxiproxy.Proxy) error { return poison(p, kind, settings, streams) })
			pause(ctx, between(random, last/4, last))
			return errors.Join(err, onEach(some, func(p *toxiproxy.Proxy) error { return cure(p, kind, streams) }))
		}}
	}
	return []fault{
		{"connections cut", func(ctx context.Context, random *rand.Rand) error {
			some := n.some(random)
			for _, p := range some {
				p.Stop()
			}
			pause(ctx, between(random, 0, 2*time.Second))
			return onEach(some, restart)
		}},
		toxic("connections delayed", "latency", 3*time.Second, func(random *rand.Rand) map[string]any {
			d := 20 + random.IntN(600)
			return map[string]any{"latency": d, "jitter": d / 2}
		}, "upstream", "downstream"),
		toxic("connections half-open", "timeout", 4*time.Second, func(*rand.Rand) map[string]any {
			return map[string]any{"timeout": 0}
		}, "upstream", "downstream"),
		toxic("connections reset after the request was sent", "reset_peer", 2*time.Second, func(random *rand.Rand) map[string]any {
			return map[string]any{"timeout": random.IntN(50)}
		}, "downstream"),
		toxic("replies cut off", "limit_data", 2*time.Second, func(random *rand.Rand) map[string]any {
			return map[string]any{"bytes": 1 + random.IntN(2000)}
		}, "downstream"),
		toxic("requests cut off", "limit_data", 2*time.Second, func(random *rand.Rand) map[string]any {
			return map[string]any{"bytes": 1 + random.IntN(4000)}
		}, "upstream"),
	}
}

// restart tries again, since a process that is being started has the former listener for a moment.
func restart(p *toxiproxy.Proxy) (err error) {
	for range 50 {
		if err = p.Start(); err == nil || errors.Is(err, toxiproxy.ErrProxyAlreadyStarted) {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

func poison(p *toxiproxy.Proxy, kind string, attributes map[string]any, streams []string) (err error) {
	for _, stream := range streams {
		text, e := json.Marshal(map[string]any{"name": kind + stream, "type": kind, "stream": stream, "attributes": attributes})
		if e == nil {
			_, e = p.Toxics.AddToxicJson(strings.NewReader(string(text)))
		}
		err = errors.Join(err, e)
	}
	return err
}

func cure(p *toxiproxy.Proxy, kind string, streams []string) (err error) {
	for _, stream := range streams {
		err = errors.Join(err, p.Toxics.RemoveToxic(context.Background(), kind+stream))
	}
	return err
}

// onEach calls f for each element and joins the errors.
func onEach[T any](all []T, f func(T) error) (err error) {
	for _, one := range all {
		err = errors.Join(err, f(one))
	}
	return err
}
