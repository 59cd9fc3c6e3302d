//go:build prove

package etcdseq_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/snowlease/snowlease/internal/test/limit"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq"
)

var (
	duration = flag.Duration("chaos.duration", 0, "how long TestChaos goes on after each fault was played once")
	losses   = flag.Int("chaos.losses", 1, "how many times as often as another fault it restores an old snapshot")
)

// TestChaos checks that ids stay unique while three members of etcd are killed, paused, cut
// off, wiped, compacted and restored from an old snapshot.
//
//	go test -tags prove -run TestChaos -v -timeout 0 . -chaos.duration=10m -chaos.losses=10
func TestChaos(t *testing.T) {
	t.Parallel()
	e := testserver.NewEtcd(t, 3)
	a := e.Nodes[0]
	ctx, cancel := context.WithCancel(t.Context())
	limit.Set(t, *duration+6*time.Minute)
	c := newCrew(*duration + 5*time.Minute)
	if *duration > 0 {
		c.rest = 100 * time.Microsecond
	}
	defer func() { cancel(); c.wait.Wait() }()
	center := open(t, e.URLs()...)
	require.NoError(t, center.Extras().Init(ctx, request()))
	for range 3 {
		c.serve(ctx, 8, open(t, e.URLs()...))
	}
	c.await(t, 16)

	pause := func() { time.Sleep(rand.N(ttl)) }
	snapshot, restores := e.Save(a), 0
	down := func(end, back func(*testserver.Server), members ...*testserver.Server) {
		for _, s := range members {
			end(s)
		}
		pause()
		for _, s := range members {
			back(s)
		}
		e.Await(e.Nodes...)
	}
	faults := []struct {
		name string
		do   func()
	}{
		{"the leader is killed", func() { down((*testserver.Server).Kill, (*testserver.Server).Start, e.Leader()) }},
		{"a minority is killed", func() { down((*testserver.Server).Kill, (*testserver.Server).Start, followers(e)[0]) }},
		{"the leader is stopped", func() { down((*testserver.Server).Pause, (*testserver.Server).Resume, e.Leader()) }},
		{"a minority is stopped", func() { down((*testserver.Server).Pause, (*testserver.Server).Resume, followers(e)[0]) }},
		{"the leader is cut off", func() { down(e.Isolate, e.Heal, e.Leader()) }},
		{"the quorum is lost", func() { down((*testserver.Server).Kill, (*testserver.Server).Start, e.Nodes[1:]...) }},
		{"all are killed", func() { down((*testserver.Server).Kill, (*testserver.Server).Start, e.Nodes...) }},
		{"a member is wiped and joins again", func() {
			s := followers(e)[0]
			s.Kill()
			e.Rejoin(s)
		}},
		{"compaction and defragmentation", func() {
			resp, err := dial(t, a.DSN()).Get(ctx, "nothing")
			require.NoError(t, err)
			e.Ctl(a, "compact", fmt.Sprint(resp.Header.Revision))
			e.Ctl(a, "defrag")
		}},
		{"a snapshot is saved", func() { snapshot = e.Save(a) }},
		{"an old snapshot is restored", func() {
			restores++
			e.Restore(snapshot, fmt.Sprint("restored-", restores))
		}},
	}
	counts := map[string]int{}
	play := func(i int) {
		counts[faults[i].name]++
		t.Log(faults[i].name)
		faults[i].do()
		time.Sleep(rand.N(ttl / 2))
	}
	for _, i := range rand.Perm(len(faults)) {
		play(i)
	}
	for end := time.Now().Add(*duration); time.Now().Before(end); {
		play(min(rand.N(len(faults)-1+*losses), len(faults)-1))
	}
	c.await(t, 16)
	var record lease.Record
	require.Eventually(t, func() bool { // its client connects again
		var err error
		record, err = center.Extras().Operator.Record(ctx, request().Namespace)
		return err == nil
	}, 10*time.Second, 10*time.Millisecond)
	require.Contains(t, record.Reason, "incarnation of the store changed", "only a restore starts a quarantine")
	require.NotContains(t, record.Incarnation, "rolled back", "elections do not count as a rollback")
	cancel()
	c.require(t)
	t.Log(counts)
}

// TestSlowDisk checks that ids go on and stay unique where each sync of the leader's disk takes
// longer, and then that of all members.
func TestSlowDisk(t *testing.T) {
	t.Parallel()
	const delay = 80 * time.Millisecond // near the election timeout, members would elect all the time
	e := testserver.NewEtcd(t, 3)
	require.NoError(t, open(t, e.URLs()...).Extras().Init(t.Context(), request()))
	ctx, cancel := context.WithCancel(t.Context())
	c := newCrew(5 * time.Minute)
	defer func() { cancel(); c.wait.Wait() }()
	c.serve(ctx, 8, open(t, e.URLs()...))
	goOn := func() {
		ids, grants := c.ids.Load(), c.grants.Load()
		require.Eventually(t, func() bool {
			return c.ids.Load() > ids+10_000 && c.grants.Load() > grants+8
		}, 30*time.Second, 10*time.Millisecond)
	}
	e.SlowDisk(delay, e.Leader())
	goOn()
	e.SlowDisk(delay, e.Nodes...)
	goOn()
	client, began := dial(t, e.URLs()...), time.Time{}
	require.Eventually(t, func() bool {
		began = time.Now()
		_, err := client.Put(ctx, "other", "o")
		return err == nil
	}, 20*time.Second, 10*time.Millisecond)
	require.GreaterOrEqual(t, time.Since(began), delay, "else the disks are not slow")
	cancel()
	c.require(t)
}

// TestPartition shows what a partition does that leaves two servers which believe to lead.
// Both sides of it have members.
func TestPartition(t *testing.T) {
	t.Parallel()
	t.Run("two primaries of Redis lend the same time twice", func(t *testing.T) {
		t.Parallel()
		primary := testserver.NewRedis(t)
		replica := testserver.NewRedisReplica(t, primary)
		onRedis := func(s *testserver.Server) lease.Center {
			client := redis.NewClient(&redis.Options{Addr: s.Addr(), ContextTimeoutEnabled: true})
			t.Cleanup(func() { require.NoError(t, client.Close()) })
			c, err := redisseq.New(client)
			require.NoError(t, err)
			return c
		}
		require.NoError(t, onRedis(primary).Extras().Init(t.Context(), request()))
		replica.CutLink()
		replica.Promote()
		c := split(t, onRedis(primary), onRedis(replica))
		require.NotEmpty(t, c.failures)
		require.ErrorContains(t, errors.Join(c.failures...), "worker id")
		t.Log(c.failures[0])
	})
	// The clients of the former leader reach only that. It has no quorum, so it lends nothing.
	t.Run("etcd does not", func(t *testing.T) {
		t.Parallel()
		e := testserver.NewEtcd(t, 3)
		leader, others := e.Leader(), followers(e)
		majority := open(t, others[0].DSN(), others[1].DSN())
		require.NoError(t, majority.Extras().Init(t.Context(), request()))
		e.Isolate(leader)
		c := split(t, open(t, leader.DSN()), majority)
		c.require(t)
		require.Positive(t, c.ids.Load())
	})
}

// split lets members on both sides of a partition borrow worker ids, for longer than a
// quarantine puts them apart.
func split(t *testing.T, one, other lease.Center) *crew {
	t.Helper()
	c := newCrew(time.Minute)
	ctx, cancel := context.WithTimeout(t.Context(), 4*ttl)
	defer cancel()
	c.serve(ctx, 8, one)
	c.serve(ctx, 8, other)
	c.wait.Wait()
	return c
}
