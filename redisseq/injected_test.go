//go:build prove

package redisseq_test

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/redistest"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/leasetest"
	"github.com/snowlease/snowlease/redisseq"
)

// An answer is an error reply of a server.
type answer string

func (a answer) Error() string { return string(a) }
func (a answer) RedisError()   {}

// failing makes one command fail, before it is sent or after it took effect (a lost
// reply).
type failing struct {
	n, at int64
	lost  bool
	all   bool // every command, not one
	waits bool // only those with WAIT count
	err   error
}

func (f *failing) hook(cmds []redis.Cmder, call func() error) error {
	if f.waits && cmds[len(cmds)-1].Name() != "wait" {
		return call()
	}
	f.n++
	if f.n != f.at && !f.all {
		return call()
	}
	if f.lost {
		_ = call()
	}
	for _, cmd := range cmds {
		cmd.SetErr(f.err)
	}
	return f.err
}

// TestFaultAtEachCommand makes each command of a life fail once in each way. A verb fails without
// a grant or gives the right answer. Repeated, it gives the answer of a run without faults.
func TestFaultAtEachCommand(t *testing.T) {
	t.Parallel()
	for _, fault := range []error{
		io.EOF, io.ErrUnexpectedEOF, os.ErrDeadlineExceeded,
		answer("NOSCRIPT No matching script"), answer("LOADING Redis is loading the dataset in memory"),
		answer("READONLY You can't write against a read only replica."), answer("OOM command not allowed"),
		answer("CLUSTERDOWN Hash slot not served"), answer("TRYAGAIN Multiple keys request"), answer("NOPERM no permissions"),
	} {
		t.Run(fault.Error(), func(t *testing.T) {
			t.Parallel()
			s, f := newMini(t), &failing{}
			c, err := open(t, s.Client(t))
			require.NoError(t, err)
			redisseq.Client(c).AddHook(redistest.Hook(f.hook))
			for _, known := range []bool{false, true} { // whether the server knows the scripts
				for _, lost := range []bool{false, true} {
					for at := int64(1); f.n >= f.at; at++ {
						require.Less(t, at, int64(40))
						*f = failing{at: at, lost: lost, err: fault}
						live(t, s, c, known)
					}
					require.Greater(t, f.at, int64(6), "each verb has a command")
					*f = failing{}
				}
			}
		})
	}
}

// live lets a process with the center c borrow, renew, lose a record, and give its worker id back. It
// calls a verb that fails once more.
func live(t *testing.T, s *store, c lease.Center, known bool) {
	t.Helper()
	s.Wipe(t)
	ctx, other, req := t.Context(), s.center(t), request()
	twice := func(done error, verb func() (lease.Grant, error)) lease.Grant { // done: by the first call
		t.Helper()
		if !known {
			require.NoError(t, s.Admin.ScriptFlush(ctx).Err())
		}
		g, err := verb()
		if err != nil {
			require.Zero(t, g)
			if done == nil || !errors.Is(err, lease.ErrLost) { // in a command that ran twice
				require.ErrorContains(t, err, s.Addr)
			}
			if g, err = verb(); err != nil {
				require.ErrorIs(t, err, done)
			}
		}
		return g
	}
	lent := func(n int) {
		t.Helper()
		slots, err := other.Extras().Lister.Slots(ctx, "orders")
		require.NoError(t, err)
		require.Len(t, slices.DeleteFunc(slots, func(s lease.Slot) bool { return s.Holder == "" }), n)
	}
	acquire := func() (lease.Grant, error) { return c.Acquire(ctx, req) }
	twice(lease.ErrExists, func() (g lease.Grant, err error) { return g, c.Extras().Init(ctx, req) })
	lent(0)
	s.Wipe(t) // an Init that was cut short leaves a quarantine
	require.NoError(t, other.Extras().Init(ctx, req))
	g := twice(nil, acquire)
	renew := func() (lease.Grant, error) { return c.Renew(ctx, g) }
	require.Equal(t, g.Token, twice(nil, acquire).Token)
	require.Equal(t, g.Token, twice(nil, renew).Token)
	s.Drop(t, "orders", leasetest.OneMark)
	s.Sleep(requireQuarantine(t, other).Wait())
	swapped := twice(nil, renew)
	require.Greater(t, swapped.Token, g.Token)
	g = swapped
	require.Equal(t, g.Token, twice(nil, renew).Token)
	twice(nil, func() (none lease.Grant, err error) {
		slots, err := c.Extras().Lister.Slots(ctx, "orders")
		require.Equal(t, err == nil, len(slots) == 4)
		return none, err
	})
	lent(1)
	twice(lease.ErrLost, func() (none lease.Grant, err error) { return none, c.Release(ctx, g, g.Floor) })
	lent(0)
}

// TestWaitReplicasFaults: errors of a pipeline with WAIT in a cluster.
func TestWaitReplicasFaults(t *testing.T) {
	t.Parallel()
	s := newMini(t)
	var unknown atomic.Bool // the cluster does not know itself
	cluster := func(f *failing) redis.UniversalClient {
		return redis.NewClusterClient(&redis.ClusterOptions{
			ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
				if unknown.Load() {
					return nil, errors.New("nobody there")
				}
				return []redis.ClusterSlot{{Start: 0, End: 16383, Nodes: []redis.ClusterNode{{Addr: s.Addr}}}}, nil
			},
			NewClient: func(o *redis.Options) *redis.Client {
				node := redis.NewClient(o)
				node.AddHook(redistest.Hook(f.hook))
				return node
			},
		})
	}
	single := func(*failing) redis.UniversalClient { return s.Client(t) }
	here := s.Addr[strings.LastIndexByte(s.Addr, ':'):] // go-redis drops a loopback host
	acquire(t, opened(t, s))                            // the server knows the scripts
	s.Wipe(t)
	for _, c := range []struct {
		client func(*failing) redis.UniversalClient
		fault  failing
		want   string
	}{
		{single, failing{at: 1, err: answer("MOVED 1 127.0.0.1:1")}, "pass a *redis.ClusterClient"},
		{cluster, failing{at: 1, waits: true, err: answer("MOVED 1 127.0.0.1:1")}, "no master of the cluster is at 127.0.0.1:1"},
		{cluster, failing{all: true, waits: true, err: answer("MOVED 1 " + here)}, "moves between servers"},
		{cluster, failing{all: true, waits: true, err: answer("ASK 1 " + here)}, "moves between servers"},
		{cluster, failing{at: 1, waits: true, err: io.EOF}, "EOF"},
		{cluster, failing{}, "nobody there"},
	} {
		unknown.Store(c.want == "nobody there")
		client := c.client(&c.fault)
		center, err := open(t, client, redisseq.WithWaitReplicas(1, time.Second))
		require.NoError(t, err)
		if _, ok := client.(*redis.Client); ok {
			redisseq.Client(center).AddHook(redistest.Hook(c.fault.hook))
		}
		g, err := center.Acquire(t.Context(), request())
		require.ErrorContains(t, err, c.want)
		require.Zero(t, g)
		_ = client.Close()
	}
	require.Empty(t, s.Records(t), "nothing was carried out")
}

// A caller finds that a record is missing, and pauses before it creates it, or sends that again. In
// between, another record is lost, of a holder that it would allow for too little.
func TestSecondLossInAPause(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]bool{"paused": false, "sent again": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newReal(t)
			req := func(first, last int64) lease.Request {
				r := request()
				r.Pool, r.First, r.Last, r.CallerTime = 2, first, last, 0
				r.TTL, r.MaxTTL, r.Skew, r.MaxLead = 2*time.Second, 2*time.Second, 100*time.Millisecond, 1900*time.Millisecond
				return r
			}
			acquire := func(c lease.Center, r lease.Request) (g lease.Grant) {
				t.Helper()
				var err error
				require.Eventually(t, func() bool { g, err = c.Acquire(t.Context(), r); return err == nil }, time.Minute, 10*time.Millisecond)
				return g
			}
			other, slow := s.center(t), s.center(t)
			require.NoError(t, other.Extras().Init(t.Context(), req(0, 1)))
			held := acquire(other, req(0, 0))
			_, err := slow.Acquire(t.Context(), req(0, 0)) // loads the scripts
			require.ErrorAs(t, err, new(*lease.NoFreeWorkerError))
			require.NoError(t, s.Client(t).HDel(t.Context(), keys("orders")[1], "1").Err())
			calls, paused, resumed, done := 0, make(chan struct{}), make(chan struct{}), make(chan error, 1)
			redisseq.Client(slow).AddHook(redistest.Hook(func(_ []redis.Cmder, call func() error) error {
				if calls++; calls == 3 { // after the step that lends, and the load
					if again {
						_ = call()
					}
					close(paused)
					<-resumed
				}
				return call()
			}))
			go func() { _, err := slow.Acquire(t.Context(), req(0, 1)); done <- err }()
			<-paused
			time.Sleep(300 * time.Millisecond) // longer than the skew
			if again {
				held = acquire(other, req(0, 0))
				time.Sleep(300 * time.Millisecond)
			}
			held, err = other.Renew(t.Context(), held)
			require.NoError(t, err)
			s.Delete(t, "orders", held.Worker)
			close(resumed)
			require.ErrorAs(t, <-done, new(*lease.QuarantineError))
			require.GreaterOrEqual(t, acquire(other, req(0, 0)).Floor, held.Ceiling)
		})
	}
}
