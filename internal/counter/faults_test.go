//go:build prove

package counter_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/counter"
	"github.com/snowlease/snowlease/internal/test/redistest"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
)

// An issue is an id, and when it was requested and returned. Compared issues use the same
// clock.
type issue struct{ start, end, id int64 }

// inOrder requires that an id requested after another was returned is greater.
func inOrder(t testing.TB, issues []issue) {
	t.Helper()
	ended := slices.SortedFunc(slices.Values(issues), func(a, b issue) int { return cmp.Compare(a.end, b.end) })
	greatest, i := int64(0), 0
	for _, next := range slices.SortedFunc(slices.Values(issues), func(a, b issue) int { return cmp.Compare(a.start, b.start) }) {
		for ; ended[i].end < next.start; i++ {
			greatest = max(greatest, ended[i].id)
		}
		require.Greater(t, next.id, greatest)
	}
}

// A crew is clients with separate connections that issue ids until dismissed: strict
// ones, whose order is checked, and others that prefetch.
type crew struct {
	t        testing.TB
	patience time.Duration
	clock    atomic.Int64
	count    atomic.Int64
	stop     chan struct{}
	wg       sync.WaitGroup
	mu       sync.Mutex
	issues   []issue // by strict clients
	ids      []int64
	wait     time.Duration // the longest wait of a quarantine
}

// muster starts a crew of eight.
func muster(t testing.TB, client func() redis.UniversalClient) *crew {
	return musterOf(t, time.Second, client)
}

func musterOf(t testing.TB, patience time.Duration, client func() redis.UniversalClient, changes ...func(*counter.Config)) *crew {
	t.Helper()
	c := &crew{t: t, patience: patience, stop: make(chan struct{})}
	for i := range 8 {
		s := sequence(t, client(), append(changes, func(c *counter.Config) { c.Prefetch = []int64{1, 256}[i%2] })...)
		c.wg.Go(func() { c.work(s) })
	}
	c.await(1000)
	return c
}

func (c *crew) work(s *counter.Counter) {
	last := int64(0)
	for {
		select {
		case <-c.stop:
			return
		default:
		}
		if id, ok := c.issue(s); ok {
			if id <= last {
				c.t.Errorf("%d was issued after %d", id, last)
			}
			last = id
			time.Sleep(100 * time.Microsecond)
		}
	}
}

// issue issues some ids and returns the last one. Errors pass.
func (c *crew) issue(s *counter.Counter) (last int64, ok bool) {
	ids := make([]int64, 1+rand.IntN(3))
	start := c.clock.Add(1)
	ctx, cancel := context.WithTimeout(c.t.Context(), c.patience)
	err := s.NextIDs(ctx, ids)
	cancel()
	end := c.clock.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if q := (*lease.QuarantineError)(nil); errors.As(err, &q) {
		c.wait = max(c.wait, q.Wait())
	}
	if err != nil {
		return 0, false
	}
	if !slices.IsSorted(ids) {
		c.t.Errorf("%d do not rise", ids)
	}
	c.ids = append(c.ids, ids...)
	if s.Status().Strict {
		c.issues = append(c.issues, issue{start, end, ids[0]}, issue{start, end, ids[len(ids)-1]})
	}
	c.count.Add(int64(len(ids)))
	return ids[len(ids)-1], true
}

// await returns when n more ids were issued.
func (c *crew) await(n int64) {
	c.t.Helper()
	until := c.count.Load() + n
	require.Eventually(c.t, func() bool { return c.count.Load() >= until }, 2*time.Minute, time.Millisecond, "ids go on")
}

// dismiss stops the crew and checks all its ids.
func (c *crew) dismiss() {
	c.t.Helper()
	close(c.stop)
	c.wg.Wait()
	unique(c.t, c.ids)
	inOrder(c.t, c.issues)
}

// TestSequenceFaults: no fault repeats an id or breaks the order.
func TestSequenceFaults(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(ctx context.Context, s *redistest.Store, srv *testserver.Server){
		"none":        func(context.Context, *redistest.Store, *testserver.Server) {},
		"flushed":     func(ctx context.Context, s *redistest.Store, _ *testserver.Server) { s.Admin.FlushAll(ctx) },
		"key deleted": func(ctx context.Context, s *redistest.Store, _ *testserver.Server) { s.Admin.Del(ctx, sequenceKey) },
		"field deleted": func(ctx context.Context, s *redistest.Store, _ *testserver.Server) {
			s.Admin.HDel(ctx, sequenceKey, "tick", "seq")
		},
		"scripts lost": func(ctx context.Context, s *redistest.Store, _ *testserver.Server) { s.Admin.ScriptFlush(ctx) },
		"connections": func(ctx context.Context, s *redistest.Store, _ *testserver.Server) {
			s.Admin.ClientKillByFilter(ctx, "TYPE", "normal")
		},
		"paused": func(_ context.Context, _ *redistest.Store, srv *testserver.Server) {
			srv.Pause()
			time.Sleep(200 * time.Millisecond)
			srv.Resume()
		},
		"killed":     func(_ context.Context, _ *redistest.Store, srv *testserver.Server) { srv.Kill(); srv.Start() },
		"clock back": func(_ context.Context, _ *redistest.Store, srv *testserver.Server) { srv.ShiftClock(-time.Hour) },
		"clock a little": func(_ context.Context, _ *redistest.Store, srv *testserver.Server) {
			srv.ShiftClock(-10 * time.Millisecond)
		},
		"clock back, and a restart": func(ctx context.Context, s *redistest.Store, srv *testserver.Server) { // ids do not wait an hour
			srv.ShiftClock(-time.Hour)
			require.Eventually(t, func() bool {
				at, err := s.Admin.HMGet(ctx, sequenceKey, "seen", "at").Result()
				return err == nil && len(at) == 2 && fmt.Sprint(at[0]) < fmt.Sprint(at[1])
			}, time.Minute, time.Millisecond)
			require.NoError(t, s.Admin.Save(ctx).Err())
			srv.Kill()
			srv.Start()
		},
		"clock forward": func(_ context.Context, _ *redistest.Store, srv *testserver.Server) { srv.ShiftClock(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, srv := redistest.StartReal(t)
			c := muster(t, func() redis.UniversalClient { return s.Client(t) })
			for range 2 {
				fault(t.Context(), s, srv)
				c.await(1000)
			}
			if strings.HasPrefix(name, "clock") {
				srv.ShiftClock(0)
				c.await(1000)
			}
			c.dismiss()
		})
	}
}

// TestSequenceOldDump: Redis is killed and returns with old data.
func TestSequenceOldDump(t *testing.T) {
	t.Parallel()
	s, srv := redistest.StartReal(t)
	c := muster(t, func() redis.UniversalClient { return s.Client(t) })
	require.NoError(t, s.Admin.Save(t.Context()).Err())
	for range 3 {
		c.await(1000)
		srv.Kill()
		srv.Start()
		require.EqualValues(t, 1, s.Admin.Exists(t.Context(), sequenceKey).Val())
		c.await(1000)
	}
	c.dismiss()
}

// A pointer says which server is the master.
type pointer struct{ addr atomic.Pointer[string] }

func (p *pointer) point(srv *testserver.Server) {
	addr := srv.Addr()
	p.addr.Store(&addr)
}

func (p *pointer) client(t testing.TB) redis.UniversalClient {
	client := redis.NewClient(&redis.Options{Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", *p.addr.Load())
	}})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// TestSequenceFailover promotes a replica that missed the last writes.
func TestSequenceFailover(t *testing.T) {
	t.Parallel()
	primary := testserver.NewRedis(t)
	replica := testserver.NewRedisReplica(t, primary)
	var master pointer
	master.point(primary)
	c := muster(t, func() redis.UniversalClient { return master.client(t) })
	for range 2 {
		replica.CutLink()
		c.await(1000)
		primary.Kill()
		replica.Promote()
		master.point(replica)
		c.await(1000)
		primary.Start()
		primary.Follow(replica)
		primary, replica = replica, primary
	}
	c.dismiss()
}

// TestSequenceOrderIsSeen: inOrder finds ids out of order.
func TestSequenceOrderIsSeen(t *testing.T) {
	t.Parallel()
	right := []issue{{1, 4, 10}, {2, 3, 20}, {5, 6, 21}, {5, 7, 30}}
	inOrder(t, right)
	for _, wrong := range [][]issue{
		{{1, 2, 10}, {3, 4, 9}}, {{1, 2, 10}, {3, 4, 10}}, {{1, 3, 20}, {2, 8, 5}, {4, 5, 19}}, {{1, 9, 30}, {2, 3, 20}, {4, 5, 10}},
	} {
		r := &recorder{TB: t}
		done := make(chan struct{})
		go func() {
			defer close(done)
			inOrder(r, wrong)
		}()
		<-done
		require.True(t, r.failed, wrong)
	}
}
