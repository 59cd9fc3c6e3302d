//go:build prove

package redisseq_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/keeper"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/internal/test/redistest"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// A fleet is processes that constantly issue ids on one Redis with default settings.
type fleet struct {
	t       *testing.T
	s       *store
	srv     *testserver.Server
	replica *testserver.Server
	addr    atomic.Value // of the Redis that all use

	gate    sync.RWMutex // locked while the first newcomer after a loss asks
	keepers []*keeper.Keeper
	issuers sync.WaitGroup
	done    chan struct{}

	issued atomic.Int64
	mu     sync.Mutex
	ids    []int64
	grants []lease.Grant
}

// A watched is the center of one process.
type watched struct {
	lease.Center
	f       *fleet
	refused chan *lease.QuarantineError // of a newcomer
}

func (w watched) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	return w.note(func() (lease.Grant, error) { return w.Center.Acquire(ctx, req) })
}

func (w watched) Renew(ctx context.Context, g lease.Grant) (lease.Grant, error) {
	return w.note(func() (lease.Grant, error) { return w.Center.Renew(ctx, g) })
}

func (w watched) note(verb func() (lease.Grant, error)) (lease.Grant, error) {
	if w.refused == nil {
		w.f.gate.RLock()
		defer w.f.gate.RUnlock()
	}
	g, err := verb()
	if q := (*lease.QuarantineError)(nil); w.refused != nil && errors.As(err, &q) {
		select {
		case w.refused <- q:
		default:
		}
	}
	if err == nil {
		w.f.mu.Lock()
		defer w.f.mu.Unlock()
		w.f.grants = append(w.f.grants, g)
	}
	return g, err
}

// process returns a keeper, and a function that starts it and issues ids until the end.
func (f *fleet) process(refused chan *lease.QuarantineError) (*keeper.Keeper, func() error) {
	client := redis.NewClient(&redis.Options{Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", f.addr.Load().(string))
	}})
	f.t.Cleanup(func() { _ = client.Close() })
	c, err := open(f.t, client)
	require.NoError(f.t, err)
	gen := generator.New(snowflake.Layout{})
	cfg := keeper.Config{Center: watched{c, f, refused}, Generator: gen, Request: memcenter.NewRequest("orders", gen.Layout())}
	if refused == nil {
		cfg.Jitter = func(_, most time.Duration) time.Duration { return min(most, 200*time.Millisecond) } // so that it notices the loss soon
	}
	k := keeper.New(cfg)
	return k, func() error {
		if err := k.Start(f.t.Context()); err != nil {
			return err
		}
		f.issuers.Go(func() { f.issue(gen) })
		return nil
	}
}

// issue issues ids until the end. None may fail.
func (f *fleet) issue(gen *generator.Generator) {
	var ids []int64
	pace := time.NewTicker(time.Millisecond)
	defer pace.Stop()
	for {
		select {
		case <-f.done:
			f.mu.Lock()
			defer f.mu.Unlock()
			f.ids = append(f.ids, ids...)
			return
		case <-pace.C:
		}
		for range 5 {
			id, err := gen.NextID()
			if !assert.NoError(f.t, err, "a process that has ids goes on") {
				return
			}
			ids = append(ids, id)
		}
		f.issued.Add(5)
	}
}

func (f *fleet) hold(n int) {
	for range n {
		k, start := f.process(nil)
		require.NoError(f.t, start())
		f.keepers = append(f.keepers, k)
	}
}

// renewed waits until all have renewed.
func (f *fleet) renewed() {
	for _, k := range f.keepers {
		before := k.Status().Renewals
		require.Eventually(f.t, func() bool { return k.Status().Renewals > before }, time.Minute, 10*time.Millisecond)
	}
}

func (f *fleet) admin() *redis.Client {
	return (&redistest.Store{Addr: f.addr.Load().(string)}).Client(f.t)
}

// join starts a newcomer that asks first after a loss, and waits until it was refused.
func (f *fleet) join(lose func(*fleet)) (k *keeper.Keeper, started chan error, at time.Time) {
	f.gate.Lock()
	defer f.gate.Unlock()
	lose(f)
	at = f.admin().Time(f.t.Context()).Val()
	refused := make(chan *lease.QuarantineError, 1)
	k, start := f.process(refused)
	started = make(chan error, 1)
	go func() { started <- start() }()
	select {
	case q := <-refused:
		require.LessOrEqual(f.t, q.Wait(), lease.DefaultSkew+500*time.Millisecond)
	case err := <-started:
		require.Fail(f.t, "lent at once", err)
	}
	return k, started, at
}

// finish stops all processes and checks their grants and ids.
func (f *fleet) finish() {
	least := f.issued.Load() + 2000
	require.Eventually(f.t, func() bool { return f.issued.Load() > least }, time.Minute, 10*time.Millisecond)
	close(f.done)
	f.issuers.Wait()
	for _, k := range f.keepers {
		require.NoError(f.t, k.Stop(f.t.Context()))
	}
	slices.Sort(f.ids)
	require.Len(f.t, slices.Compact(slices.Clone(f.ids)), len(f.ids), "no id twice")
	slices.SortFunc(f.grants, func(a, b lease.Grant) int {
		return cmp.Or(cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Floor, b.Floor))
	})
	for i, g := range f.grants[1:] {
		if last := f.grants[i]; last.Worker == g.Worker && last.Owner != g.Owner {
			require.LessOrEqual(f.t, last.Ceiling, g.Floor, "%v\n%v", last, g)
		}
	}
	f.t.Logf("%d ids", len(f.ids))
}

// TestLossToGrant: however a Redis loses grants, holders continue without a pause, and
// newcomers get ids after little more than the skew. No id repeats.
func TestLossToGrant(t *testing.T) {
	t.Parallel()
	wipe := func(f *fleet) { require.NoError(f.t, f.admin().FlushAll(f.t.Context()).Err()) }
	behind := func(f *fleet) {
		f.replica.CutLink()
		f.hold(1) // unknown to the replica
		f.renewed()
	}
	var all sync.WaitGroup
	for name, c := range map[string]struct {
		holders int
		start   func(*fleet)
		before  func(*fleet)
		losses  []func(*fleet)
	}{
		"a first start": {losses: []func(*fleet){func(*fleet) {}}},
		"FLUSHALL":      {holders: 3, losses: []func(*fleet){wipe}},
		"a restart without data": {holders: 3, losses: []func(*fleet){func(f *fleet) {
			f.srv.Kill()
			f.srv.Start()
		}}},
		"a stale replica is promoted": {
			holders: 2,
			before: func(f *fleet) {
				f.replica = testserver.NewRedisReplica(f.t, f.srv)
				behind(f)
			},
			losses: []func(*fleet){func(f *fleet) {
				f.srv.Kill()
				f.replica.Promote()
				f.addr.Store(f.replica.Addr())
			}},
		},
		"a stale replica is promoted behind HAProxy": {
			holders: 2,
			start: func(f *fleet) {
				f.replica = testserver.NewRedisReplica(f.t, f.srv)
				f.addr.Store(testserver.NewHAProxy(f.t, []*testserver.Server{f.srv, f.replica}).Addr())
			},
			before: behind,
			losses: []func(*fleet){func(f *fleet) {
				f.srv.Kill()
				f.replica.Promote()
				answers(f.t, f.admin())
			}},
		},
		"all records of worker ids are deleted": {holders: 3, losses: []func(*fleet){func(f *fleet) {
			require.NoError(f.t, f.admin().Del(f.t.Context(), keys("orders")[:3]...).Err())
		}}},
		"some records are lost": {holders: 3, losses: []func(*fleet){func(f *fleet) {
			c, k, ctx := f.admin(), keys("orders"), f.t.Context()
			worker := func(i int) string { return fmt.Sprint(f.keepers[i].Status().Grant.Worker) }
			require.NoError(f.t, errors.Join(
				c.ZRem(ctx, k[0], worker(0)).Err(), c.HDel(ctx, k[1], worker(1)).Err(), c.HDel(ctx, k[2], worker(2)).Err()))
		}}},
		"three times": {holders: 3, losses: []func(*fleet){wipe, wipe, wipe}},
	} {
		all.Go(func() {
			t.Run(name, func(t *testing.T) { // all in parallel, because they mostly wait
				f := &fleet{t: t, done: make(chan struct{})}
				f.s, f.srv = startReal(t)
				f.addr.Store(f.srv.Addr())
				if c.holders > 0 {
					req := memcenter.NewRequest("orders", snowflake.Layout{}.WithDefaults())
					req.Owner = lease.NewOwner()
					require.NoError(t, f.s.center(t).Extras().Init(t.Context(), req))
				}
				if c.start != nil {
					c.start(f)
				}
				f.hold(c.holders)
				f.renewed()
				if c.before != nil {
					c.before(f)
				}
				var newcomers []chan error
				var lost time.Time
				for _, lose := range c.losses {
					k, started, at := f.join(lose)
					f.keepers, newcomers, lost = append(f.keepers, k), append(newcomers, started), at
				}
				for _, started := range newcomers {
					require.NoError(t, <-started)
				}
				last := f.keepers[len(f.keepers)-1].Status().Grant
				t.Logf("%v from the loss to the grant of a newcomer", time.UnixMilli(last.Since).Sub(lost).Truncate(time.Millisecond))
				for _, k := range f.keepers { // the holders too
					require.Eventually(t, func() bool { return k.Status().Grant.Floor >= last.Floor }, time.Minute, 10*time.Millisecond)
				}
				f.finish()
			})
		})
	}
	all.Wait()
}
