//go:build prove

package redisseq_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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

// TestFaultAtEachCommand makes each command of each verb fail once in each way. The verb
// fails without a grant or gives the right answer. Repeated, it gives the answer of a run
// without faults.
func TestFaultAtEachCommand(t *testing.T) {
	t.Parallel()
	faults := []error{
		io.EOF, io.ErrUnexpectedEOF, os.ErrDeadlineExceeded,
		answer("NOSCRIPT No matching script"), answer("LOADING Redis is loading the dataset in memory"),
		answer("READONLY You can't write against a read only replica."), answer("OOM command not allowed"),
		answer("CLUSTERDOWN Hash slot not served"), answer("TRYAGAIN Multiple keys request"), answer("NOPERM no permissions"),
	}
	type scene struct {
		s *store
		c lease.Center
		g lease.Grant
	}
	nothing := func(*testing.T, *scene) {}
	begin := func(t *testing.T, e *scene) { require.NoError(t, e.c.Extras().Init(t.Context(), request())) }
	hold := func(t *testing.T, e *scene) {
		begin(t, e)
		e.g = acquire(t, e.c)
	}
	loss := func(t *testing.T, e *scene) {
		hold(t, e)
		e.s.Drop(t, "orders", leasetest.OneMark)
		e.s.Sleep(requireQuarantine(t, e.c).Wait())
	}
	acquired := func(t *testing.T, e *scene) (lease.Grant, error) { return e.c.Acquire(t.Context(), e.g.Request) }
	renewed := func(t *testing.T, e *scene) (lease.Grant, error) { return e.c.Renew(t.Context(), e.g) }
	released := func(t *testing.T, e *scene) (g lease.Grant, err error) {
		return g, e.c.Release(t.Context(), e.g, e.g.Floor)
	}
	opened := func(t *testing.T, e *scene) (g lease.Grant, err error) {
		return g, e.c.Extras().Init(t.Context(), e.g.Request)
	}
	listed := func(t *testing.T, e *scene) (g lease.Grant, err error) {
		slots, err := e.c.Extras().Lister.Slots(t.Context(), "orders")
		require.Equal(t, err == nil, len(slots) == 4)
		return g, err
	}
	for name, verb := range map[string]struct {
		prepare func(t *testing.T, e *scene)
		run     func(t *testing.T, e *scene) (lease.Grant, error)
		want    error // if the verb took effect before
		lent    int   // worker ids at the end
	}{
		"init":          {nothing, opened, lease.ErrExists, 0},
		"acquire":       {begin, acquired, nil, 1},
		"acquire again": {hold, acquired, nil, 1},
		"renew":         {hold, renewed, nil, 1},
		"swap":          {loss, renewed, nil, 1},
		"release":       {hold, released, lease.ErrLost, 0},
		"slots":         {hold, listed, nil, 1},
	} {
		for _, known := range []bool{false, true} { // whether the server knows the scripts
			t.Run(fmt.Sprintf("%s, scripts known %v", name, known), func(t *testing.T) {
				t.Parallel()
				s := newMini(t)
				f := &failing{}
				c, err := open(t, s.Client(t))
				require.NoError(t, err)
				redisseq.Client(c).AddHook(redistest.Hook(f.hook))
				try := func(fault error, at int64, lost bool) (hit bool) {
					what := fmt.Sprintf("%v at command %d, lost %v", fault, at, lost)
					s.Wipe(t)
					e := &scene{s, c, lease.Grant{Request: request()}}
					*f = failing{}
					verb.prepare(t, e)
					if !known {
						require.NoError(t, s.Admin.ScriptFlush(t.Context()).Err())
					}
					*f = failing{at: at, lost: lost, err: fault}
					g, err := verb.run(t, e)
					hit = f.n >= at
					*f = failing{}
					if err != nil {
						require.Zero(t, g, what)
						if !errors.Is(err, lease.ErrLost) || verb.want == nil { // took effect in a command that ran twice
							require.ErrorContains(t, err, s.Addr, what)
						}
						if again, err := verb.run(t, e); err == nil {
							g = again
						} else {
							require.ErrorIs(t, err, verb.want, what)
						}
					}
					lent := 0
					slots, err := c.Extras().Lister.Slots(t.Context(), "orders")
					require.NoError(t, err, what)
					for _, slot := range slots {
						if !slot.Free() {
							lent++
						}
					}
					require.Equal(t, verb.lent, lent, what)
					if verb.lent == 1 && g.Token != 0 {
						require.Equal(t, g.Token, renew(t, c, g).Token, what)
					}
					return hit
				}
				for _, fault := range faults {
					for _, lost := range []bool{false, true} {
						for at := int64(1); try(fault, at, lost); at++ {
							require.Less(t, at, int64(10))
						}
					}
				}
			})
		}
	}
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
