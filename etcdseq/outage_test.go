//go:build prove

package etcdseq_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/etcdseq"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
)

// An outage is what forty keepers ask of an etcd that is away.
type outage struct {
	silent               bool // connections are not even refused
	attempts, dials, ids atomic.Int64

	mu    sync.Mutex
	away  bool
	conns []net.Conn
}

// dial dials for the client of a keeper.
func (o *outage) dial(ctx context.Context, addr string) (net.Conn, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.away {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		o.conns = append(o.conns, conn)
		return conn, err
	}
	o.dials.Add(1)
	if o.silent {
		o.mu.Unlock()
		<-ctx.Done()
		o.mu.Lock()
	}
	return nil, errors.New("connection refused")
}

func (o *outage) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.away = true
	for _, conn := range o.conns {
		_ = conn.Close()
	}
	o.attempts.Store(0)
	o.ids.Store(0)
}

// asked is a center that counts what a keeper asks of it.
type asked struct {
	lease.Center
	*outage
}

func (a asked) count(ctx context.Context) {
	if a.attempts.Add(1) > 20_000 { // time does not pass for a keeper that never pauses
		<-ctx.Done()
	}
}

func (a asked) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	a.count(ctx)
	return a.Center.Acquire(ctx, req)
}

func (a asked) Renew(ctx context.Context, g lease.Grant) (lease.Grant, error) {
	a.count(ctx)
	return a.Center.Renew(ctx, g)
}

// TestOutage counts what forty keepers on a pool of 32 worker ids ask of etcd in a minute
// without it, while they issue ids. Its time is virtual.
//
//	go test -tags prove -run TestOutage -v .
func TestOutage(t *testing.T) {
	t.Parallel()
	urls := testserver.NewEtcd(t, 3).URLs()
	for name, silent := range map[string]bool{"refused": false, "silent": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &outage{silent: silent}
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)))
				ctx, cancel := context.WithCancel(t.Context())
				var wait sync.WaitGroup
				defer func() { cancel(); wait.Wait() }()
				req := memcenter.NewRequest(name, layout)
				req.Owner = lease.NewOwner()
				for i := range 40 {
					client, err := clientv3.New(clientv3.Config{Endpoints: urls, Logger: zap.NewNop(), DialOptions: []grpc.DialOption{grpc.WithContextDialer(o.dial)}})
					require.NoError(t, err)
					center, err := etcdseq.New(client)
					require.NoError(t, err)
					if i == 0 {
						require.NoError(t, center.Extras().Init(ctx, req))
					}
					open := func() (*snowlease.Worker, error) {
						return snowlease.Open(ctx, asked{center, o}, snowlease.Config{Namespace: name, Layout: layout, Wait: time.Hour})
					}
					if i >= 32 { // there is no worker id left
						wait.Go(func() { _, _ = open(); _ = client.Close() })
						continue
					}
					k, err := open() // one by one, because time stands still until the outage
					require.NoError(t, err)
					wait.Go(func() {
						defer client.Close()
						for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
							for range 10 {
								if _, err := k.NextID(); err == nil {
									o.ids.Add(1)
								}
							}
						}
						_ = k.Stop(context.WithoutCancel(ctx))
					})
				}
				o.begin()
				time.Sleep(time.Minute)
				t.Logf("in a minute: %d attempts, %d connections, %d ids", o.attempts.Load(), o.dials.Load(), o.ids.Load())
				require.LessOrEqual(t, o.attempts.Load(), int64(1800))
				require.LessOrEqual(t, o.dials.Load(), int64(10_000))
				require.InDelta(t, 32*100*req.TTL.Seconds(), o.ids.Load(), 32*100, "ids go on to the end of their ranges")
			})
		})
	}
}
