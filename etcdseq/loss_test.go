//go:build prove

package etcdseq_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/snowlease/snowlease/etcdseq"
	"github.com/snowlease/snowlease/internal/engine"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
)

// TestRestore restores snapshots that lack the grant of a holder, and shows which restores
// the center notices.
func TestRestore(t *testing.T) {
	t.Parallel()
	e, c := begun(t)
	url := e.Nodes[0].DSN()
	admin := dial(t, url)
	// lost restores a snapshot that lacks a grant, which it returns.
	lost := func(c lease.Center, token string, others ...lease.Center) lease.Grant {
		file := e.Save(e.Nodes[0])
		g := borrow(t, c, first())
		for range 100 * len(others) { // later revisions than the restored cluster will have
			_, err := admin.Put(t.Context(), "other", "o")
			require.NoError(t, err)
		}
		for _, other := range append(others, c) {
			settle(t, other)
		}
		e.Restore(file, token)
		return g
	}
	noticed := func(c lease.Center, g lease.Grant, why string) {
		t.Helper()
		quarantine := requireQuarantine(t, c)
		require.Contains(t, quarantine.Reason, why)
		require.Greater(t, quarantine.Until.UnixMilli(), g.Ceiling)
		time.Sleep(quarantine.Wait())
		next := borrow(t, c, first())
		require.GreaterOrEqual(t, next.Floor, g.Ceiling)
		require.NoError(t, c.Release(t.Context(), next, next.Floor))
	}

	g := lost(c, "another")
	noticed(open(t, url), g, "incarnation of the store changed")

	// Another restart is another election, which the records of the restored cluster do not
	// have. This process knows nothing of the lost grant.
	e.Nodes[0].Kill()
	e.Nodes[0].Start()
	e.Await(e.Nodes...)
	settle(t, c)
	g = lost(c, "")
	noticed(open(t, url), g, "rolled back 1")

	// Now the term is that of the snapshot. A process that saw a later revision notices.
	settle(t, c)
	second := open(t, url)
	g = lost(c, "", second)
	noticed(c, g, "rolled back 2")
	settle(t, second)
	record, err := second.Extras().Operator.Record(t.Context(), request().Namespace)
	require.NoError(t, err)
	require.Contains(t, record.Incarnation, "rolled back 2", "one rollback counts once")

	// A new process sees nothing, so the quarantine is by hand.
	settle(t, c)
	g = lost(c, "")
	unaware := open(t, url)
	again, err := unaware.Acquire(t.Context(), first())
	require.NoError(t, err, "nothing shows")
	require.Less(t, again.Floor, max(g.Ceiling, again.Now), "so a range is lent twice, unless that took longer than the lease")
	require.NoError(t, unaware.Release(t.Context(), again, again.Ceiling))
	g = lost(unaware, "")
	_, err = open(t, url).Extras().Operator.Quarantine(t.Context(), request().Namespace, "restored from a backup")
	require.NoError(t, err)
	noticed(open(t, url), g, "restored from a backup")
}

// TestSwapAfterARestore checks that a write shows that it reached another cluster than the
// read, or the same one as it was earlier.
func TestSwapAfterARestore(t *testing.T) {
	t.Parallel()
	for name, token := range map[string]string{"another cluster": "another", "the same cluster": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := testserver.NewEtcd(t, 1)
			client := dial(t, e.URLs()...)
			s := etcdseq.NewStore(client)
			write := func(was, is string) (string, error) {
				return s.Swap(t.Context(), "orders", map[string]string{"0": was}, map[string]string{"0": is})
			}
			_, first, err := s.Load(t.Context(), "orders")
			require.NoError(t, err)
			late := etcdseq.NewStore(client)
			_, _, err = late.Load(t.Context(), "orders")
			require.NoError(t, err)
			own, err := write("", "a")
			require.NoError(t, err)
			require.Equal(t, first, own)
			_, err = write("", "b")
			require.ErrorIs(t, err, engine.ErrChanged)
			_, err = late.Swap(t.Context(), "orders", map[string]string{"1": ""}, map[string]string{"1": "a"})
			require.ErrorIs(t, err, engine.ErrChanged, "it does not know what is on record of the cluster")
			file := e.Save(e.Nodes[0])
			for _, other := range []string{"x", "y", "z"} {
				_, err := client.Put(t.Context(), "other", other)
				require.NoError(t, err)
			}
			_, _, err = s.Load(t.Context(), "orders")
			require.NoError(t, err)
			e.Restore(file, token)
			for range 2 * len(token) { // another cluster has other revisions, which may be later
				e.Ctl(e.Nodes[0], "put", "other", "o")
			}
			var written string
			require.Eventually(t, func() bool { // the client connects again
				written, err = write("a", "b")
				return err == nil
			}, 10*time.Second, 10*time.Millisecond)
			require.NotEqual(t, own, written)
			for range 5 { // others raise the revision above the one that was seen
				e.Ctl(e.Nodes[0], "put", "other", "o")
			}
			parts, incarnation, err := s.Load(t.Context(), "orders")
			require.NoError(t, err)
			require.Equal(t, "b", parts["0"])
			require.NotEqual(t, own, incarnation)
			e.Ctl(e.Nodes[0], "put", "other", "o")
			_, again, err := s.Load(t.Context(), "orders")
			require.NoError(t, err)
			require.Equal(t, incarnation, again, "it shows until it is on record")
		})
	}
}

// first returns a request for the one worker id that tests of a loss compare.
func first() lease.Request {
	r := request()
	r.Last = 0
	return r
}

// A snapshot that is restored again takes back the count of rollbacks too. A process that saw
// the count notices.
func TestRestoreTwice(t *testing.T) {
	t.Parallel()
	e, c := begun(t)
	settle(t, c)
	file := e.Save(e.Nodes[0])
	settle(t, c)
	for range 3 {
		e.Restore(file, "")
		requireQuarantine(t, c)
	}
}

// After a restore, others may have raised the revision above the one that this process saw,
// as --bump-revision does. The term that it saw shows the loss, though the snapshot has none
// as late on record.
func TestRestoreBelowTheTermThatWasSeen(t *testing.T) {
	t.Parallel()
	e, c := begun(t)
	client := dial(t, e.URLs()...)
	settle(t, c)
	file := e.Save(e.Nodes[0])
	e.Nodes[0].Kill() // another election
	e.Nodes[0].Start()
	e.Await(e.Nodes...)
	settle(t, c)
	borrow(t, c, first())
	seen, err := client.Get(t.Context(), "other")
	require.NoError(t, err)
	e.Restore(file, "")
	require.Eventually(t, func() bool {
		resp, err := client.Put(t.Context(), "other", "x")
		return err == nil && resp.Header.Revision > seen.Header.Revision
	}, 20*time.Second, time.Millisecond)
	requireQuarantine(t, c)
}

// A process that has seen that the revision fell back knows it until that is on record, even
// if others raise the revision right after it was read.
func TestRestoreBelowTheRevisionThatWasSeen(t *testing.T) {
	t.Parallel()
	e := testserver.NewEtcd(t, 1)
	url, latest := e.Nodes[0].DSN(), int64(0) // the latest revision before the restore
	others := dial(t, url)
	c := on(t, intercepted(t, func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		err := invoke(ctx, method, req, reply, conn, opts...)
		if _, read := reply.(*etcdserverpb.RangeResponse); !read || err != nil {
			return err
		}
		for revision := int64(0); revision < latest; {
			resp, err := others.Put(ctx, "other", "o")
			if err != nil {
				return err
			}
			revision = resp.Header.Revision
		}
		return nil
	}, url))
	require.NoError(t, c.Extras().Init(t.Context(), request()))
	file := e.Save(e.Nodes[0])
	borrow(t, open(t, url), first())
	_, err := c.Extras().Lister.Slots(t.Context(), request().Namespace)
	require.NoError(t, err)
	resp, err := others.Get(t.Context(), "other")
	require.NoError(t, err)
	e.Restore(file, "")
	latest = resp.Header.Revision + 10
	require.Eventually(t, func() bool { // the client connects again
		incarnation, err := c.Extras().Operator.Incarnation(t.Context(), request().Namespace)
		return err == nil && strings.Contains(incarnation, "rolled back 1")
	}, 10*time.Second, 10*time.Millisecond)
	requireQuarantine(t, c)
	record, err := c.Extras().Operator.Record(t.Context(), request().Namespace)
	require.NoError(t, err)
	require.Contains(t, record.Incarnation, "rolled back 1")
}

// A process that another cluster has answered in between still knows the revision that it saw.
func TestRestoreAfterAnotherClusterAnswered(t *testing.T) {
	t.Parallel()
	e := testserver.NewEtcd(t, 1)
	url := e.Nodes[0].DSN()
	client := dial(t, url)
	c := on(t, client)
	require.NoError(t, c.Extras().Init(t.Context(), request()))
	file := e.Save(e.Nodes[0])
	borrow(t, open(t, url), first())
	incarnation := func() string {
		is, err := c.Extras().Operator.Incarnation(t.Context(), request().Namespace)
		if err != nil {
			return "" // the client connects again
		}
		return is
	}
	seen := incarnation()
	require.NotEmpty(t, seen)
	client.SetEndpoints(testserver.NewEtcd(t, 1).Nodes[0].DSN())
	require.Eventually(t, func() bool { is := incarnation(); return is != "" && is != seen }, 20*time.Second, 10*time.Millisecond)
	e.Restore(file, "")
	client.SetEndpoints(url)
	is := "" // its first answer
	require.Eventually(t, func() bool { is = incarnation(); return strings.HasPrefix(is, seen) }, 20*time.Second, 10*time.Millisecond)
	require.Contains(t, is, "rolled back 1")
	requireQuarantine(t, c)
}

// A member tells an old term and refuses the write that would show whether it lags, as etcd
// 3.4 does. A call to another member records no rollback.
func TestOldTermInDoubt(t *testing.T) {
	t.Parallel()
	e := testserver.NewEtcd(t, 1)
	var behind, late bool
	s := etcdseq.NewStore(intercepted(t, func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if _, deletes := req.(*etcdserverpb.DeleteRangeRequest); behind && deletes {
			return errors.New("refused")
		}
		err := invoke(ctx, method, req, reply, conn, opts...)
		if r, read := reply.(*etcdserverpb.RangeResponse); behind && read && err == nil {
			r.Header.RaftTerm--
		}
		if r, write := reply.(*etcdserverpb.TxnResponse); late && write && err == nil {
			r.Header.RaftTerm--
		}
		return err
	}, e.URLs()...))
	_, incarnation, err := s.Load(t.Context(), "orders")
	require.NoError(t, err)
	own := incarnation
	behind = true
	_, _, err = s.Load(t.Context(), "orders")
	require.ErrorContains(t, err, "refused")
	behind = false
	written, err := s.Swap(t.Context(), "orders", map[string]string{"0": ""}, map[string]string{"0": "a"})
	require.NoError(t, err)
	require.Equal(t, own, written)
	_, incarnation, err = s.Load(t.Context(), "orders")
	require.NoError(t, err)
	require.Equal(t, own, incarnation)

	// A member answers a write before it sets its term.
	late = true
	written, err = s.Swap(t.Context(), "orders", map[string]string{"0": "a"}, map[string]string{"0": "b"})
	require.NoError(t, err)
	require.NotEqual(t, own, written, "the call fails")
	late = false
	_, incarnation, err = s.Load(t.Context(), "orders")
	require.NoError(t, err)
	require.Equal(t, own, incarnation, "nothing is remembered")
}

// A member that caught up by a snapshot tells an old term until it applies an entry of the
// log, which in an idle cluster may take long. That is no rollback.
func TestMemberCaughtUp(t *testing.T) {
	t.Parallel()
	e := testserver.NewEtcd(t, 3, "--snapshot-count", "20", "--pre-vote")
	leader, behind, next := e.Leader(), followers(e)[0], followers(e)[1]
	c, client := open(t, leader.DSN(), next.DSN()), dial(t, leader.DSN(), next.DSN())
	require.NoError(t, c.Extras().Init(t.Context(), request()))
	e.Isolate(behind)
	members, err := client.MemberList(t.Context())
	require.NoError(t, err)
	for _, m := range members.Members {
		if m.ClientURLs[0] == next.DSN() {
			_, err := dial(t, leader.DSN()).MoveLeader(t.Context(), m.ID)
			require.NoError(t, err)
		}
	}
	settle(t, c)
	var writers sync.WaitGroup
	for range 32 { // more than the leader keeps in its log
		writers.Go(func() {
			for range 260 {
				_, err := client.Put(t.Context(), "x", "x")
				assert.NoError(t, err)
			}
		})
	}
	writers.Wait()
	e.Reconnect(behind)
	term := func(c *clientv3.Client) (term uint64) {
		require.Eventually(t, func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			resp, err := c.Get(ctx, "x")
			if err == nil {
				term = resp.Header.RaftTerm
			}
			return err == nil
		}, 20*time.Second, 10*time.Millisecond)
		return term
	}
	late := dial(t, behind.DSN())
	require.Less(t, term(late), term(client), "else this shows nothing")
	// etcd 3.4 refuses writes by this member, so the member stays as it is.
	if _, incarnation, err := etcdseq.NewStore(late).Load(t.Context(), "crew"); err == nil {
		require.NotContains(t, incarnation, "rolled back")
	}
	all := etcdseq.NewStore(dial(t, e.URLs()...))
	read := 0
	require.Eventually(t, func() bool {
		_, incarnation, err := all.Load(t.Context(), "crew")
		if err == nil {
			read++
			require.NotContains(t, incarnation, "rolled back")
		}
		return read == 6
	}, 20*time.Second, 10*time.Millisecond)
}

// After etcd was away for long, the pauses of the client between connections would be long.
func TestConnectsWithEachCall(t *testing.T) {
	t.Parallel()
	var connections atomic.Int64
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{"127.0.0.1:1"}, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			connections.Add(1)
			return nil, errors.New("refused")
		})},
	})
	require.NoError(t, err)
	defer client.Close()
	c := on(t, client)
	require.Eventually(t, func() bool {
		_, err := c.Acquire(t.Context(), request())
		require.Error(t, err)
		return connections.Load() >= 30 // by itself, the client makes 7 in 30 s
	}, 20*time.Second, 10*time.Millisecond)
}

// settle has the term on record that the cluster has.
func settle(t *testing.T, c lease.Center) {
	t.Helper()
	g := borrow(t, c, request())
	require.NoError(t, c.Release(t.Context(), g, g.Floor))
}

// requireQuarantine returns the first answer after a loss. It compares no times, because a restore may
// take longer than a lease.
func requireQuarantine(t *testing.T, c lease.Center) (q *lease.QuarantineError) {
	t.Helper()
	require.Eventually(t, func() bool { // the client connects again
		_, err := c.Acquire(t.Context(), first())
		return assert.Error(t, err, "a range may be lent twice") && errors.As(err, &q)
	}, 20*time.Second, 10*time.Millisecond)
	return q
}

// borrow waits until a worker id is free.
func borrow(t *testing.T, c lease.Center, req lease.Request) (g lease.Grant) {
	t.Helper()
	req.MaxLead = req.MaxTTL - 250*time.Millisecond
	require.Eventually(t, func() bool {
		var err error
		g, err = c.Acquire(t.Context(), req)
		return err == nil
	}, 20*time.Second, 10*time.Millisecond)
	return g
}

// TestOneAttempt checks that the client does not repeat calls while etcd has no quorum, and
// that calls end with their context.
func TestOneAttempt(t *testing.T) {
	t.Parallel()
	e := testserver.NewEtcd(t, 3)
	client, calls := counted(t, e.Nodes[0].DSN())
	c := on(t, client)
	require.NoError(t, c.Extras().Init(t.Context(), request()))
	g, err := c.Acquire(t.Context(), request())
	require.NoError(t, err)
	e.Nodes[1].Kill()
	e.Nodes[2].Kill()
	// The member notices that it is alone, and refuses at once.
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		_, err := c.Acquire(ctx, request())
		return err != nil && !errors.Is(err, context.DeadlineExceeded)
	}, 20*time.Second, 10*time.Millisecond)

	attempts := func(do func(context.Context) error) (int64, error) {
		before := calls.Load()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := do(ctx)
		return calls.Load() - before, err
	}
	for name, do := range map[string]func(context.Context) error{
		"borrow":  func(ctx context.Context) error { _, err := c.Acquire(ctx, request()); return err },
		"renewal": func(ctx context.Context) error { _, err := c.Renew(ctx, g); return err },
	} {
		for all, refused := 0, 0; refused < 3; all++ {
			require.Less(t, all, 30, "calls are refused at once")
			sent, err := attempts(do)
			require.Error(t, err)
			require.EqualValues(t, 1, sent, name)
			if !errors.Is(err, context.DeadlineExceeded) { // as a call that comes while the member steps down
				refused++
			}
		}
	}
	sent, err := attempts(func(ctx context.Context) error {
		_, err := client.Get(clientv3.WithRequireLeader(ctx), "x")
		return err
	})
	require.Error(t, err)
	require.Greater(t, sent, int64(10), "what the client does by itself")
}
