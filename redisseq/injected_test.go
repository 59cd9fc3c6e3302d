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
	redis.Hook
	n, at int64
	lost  bool
	all   bool // every command, not one
	err   error
}

func (f *failing) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f *failing) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return f.fail(func() error { return next(ctx, cmd) })
	}
}

func (f *failing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := f.fail(func() error { return next(ctx, cmds) })
		if errors.Is(err, f.err) && f.err != nil {
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
		}
		return err
	}
}

func (f *failing) fail(command func() error) error {
	f.n++
	if f.n != f.at && !f.all {
		return command()
	}
	if f.lost {
		_ = command()
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
		c *redisseq.Center
		g lease.Grant
	}
	hold := func(t *testing.T, e *scene) {
		require.NoError(t, e.c.Extras().Init(t.Context(), request()))
		e.g = acquire(t, e.c)
	}
	horizon := func(t *testing.T, e *scene) {
		hold(t, e)
		e.s.Drop(t, "orders", leasetest.OneMark)
		e.s.Sleep(requireQuarantine(t, e.c).Wait())
	}
	renewed := func(t *testing.T, e *scene) (lease.Grant, error) { return e.c.Renew(t.Context(), e.g) }
	for name, verb := range map[string]struct {
		prepare func(t *testing.T, e *scene)
		run     func(t *testing.T, e *scene) (lease.Grant, error)
		want    error // if the verb took effect before
		lent    int   // worker ids at the end
	}{
		"init": {
			prepare: func(*testing.T, *scene) {},
			run: func(t *testing.T, e *scene) (g lease.Grant, err error) {
				return g, e.c.Extras().Init(t.Context(), e.g.Request)
			},
		},
		"acquire": {
			prepare: func(t *testing.T, e *scene) { require.NoError(t, e.c.Extras().Init(t.Context(), request())) },
			run:     func(t *testing.T, e *scene) (lease.Grant, error) { return e.c.Acquire(t.Context(), e.g.Request) },
			lent:    1,
		},
		"acquire again": {
			prepare: hold,
			run:     func(t *testing.T, e *scene) (lease.Grant, error) { return e.c.Acquire(t.Context(), e.g.Request) },
			lent:    1,
		},
		"renew": {prepare: hold, run: renewed, lent: 1},
		"swap":  {prepare: horizon, run: renewed, lent: 1},
		"release": {
			prepare: hold,
			run: func(t *testing.T, e *scene) (g lease.Grant, err error) {
				return g, e.c.Release(t.Context(), e.g, e.g.Floor)
			},
			want: lease.ErrLost,
		},
		"slots": {
			prepare: hold,
			run: func(t *testing.T, e *scene) (g lease.Grant, err error) {
				slots, err := e.c.Extras().Lister.Slots(t.Context(), "orders")
				if err == nil {
					require.Len(t, slots, 4)
				} else {
					require.Nil(t, slots)
				}
				return g, err
			},
			lent: 1,
		},
	} {
		for _, known := range []bool{false, true} { // whether the server knows the scripts
			t.Run(fmt.Sprintf("%s, scripts known %v", name, known), func(t *testing.T) {
				t.Parallel()
				s := newMini(t)
				client := s.Client(t)
				f := &failing{}
				client.AddHook(f)
				c, err := redisseq.New(client)
				require.NoError(t, err)
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

// TestRepliesThatAreWrong: a reply that no script sends is an error, never a grant.
func TestRepliesThatAreWrong(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for _, reply := range []any{
		nil, "OK", int64(1),
		[]any{},
		[]any{int64(1)},
		[]any{"OK", "1"},
		[]any{"OK", "x", "1", "1", "1", "1", "1"},
		[]any{"OK", "1", "1", "x"},
		[]any{"OK", "1", "99999999999999999999"},
		[]any{"OK", "1", "2", "3"},
		[]any{"OK", "x", "1"},
		[]any{"OK", "1", "1", "x", "0", "0", "0", "me"},
		[]any{"QUARANTINE", "1"},
		[]any{"CLOCK"},
		[]any{"MISMATCH"},
		[]any{"FULL", "1"},
		[]any{"VERSION"},
		[]any{"?"},
	} {
		c, err := redisseq.New(redistest.Foreign{Reply: reply})
		require.NoError(t, err)
		g, err := c.Acquire(ctx, request())
		require.ErrorContains(t, err, "redisseq: acquire", "%v", reply)
		require.Zero(t, g)
		g, err = c.Renew(ctx, lease.Grant{Request: request(), Token: 1})
		require.ErrorContains(t, err, "redisseq: renew", "%v", reply)
		require.Zero(t, g)
		if list, _ := reply.([]any); len(list) != 3 || list[1] == "x" || len(fmt.Sprint(list[2])) > 15 {
			slots, err := c.Extras().Lister.Slots(ctx, "orders")
			require.ErrorContains(t, err, "redisseq: slots", "%v", reply)
			require.Nil(t, slots)
		}
	}
	c, err := redisseq.New(redistest.Foreign{Reply: []any{"MORE"}})
	require.NoError(t, err)
	_, err = c.Acquire(ctx, request())
	require.ErrorIs(t, err, lease.ErrDamaged, "records that are made for ever")
}

// TestContextEndsWithTheReply: reply and end of the context may come in either order.
func TestContextEndsWithTheReply(t *testing.T) {
	t.Parallel()
	for range 500 {
		ctx, cancel := context.WithCancel(t.Context())
		c, err := redisseq.New(ending{cancel: cancel})
		require.NoError(t, err)
		_, err = c.Acquire(ctx, request())
		require.True(t, errors.Is(err, io.EOF) || errors.Is(err, context.Canceled), err)
		cancel()
	}
}

// ending is a client that fails when the context of the call ends.
type ending struct {
	redis.UniversalClient
	cancel func()
}

func (e ending) EvalSha(ctx context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	go e.cancel()
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(io.EOF)
	return cmd
}

func TestNameOfAClusterBehindSentinels(t *testing.T) {
	t.Parallel()
	client := redis.NewFailoverClusterClient(&redis.FailoverOptions{MasterName: "m", SentinelAddrs: []string{"127.0.0.1:1"}, Password: "secret"})
	t.Cleanup(func() { _ = client.Close() })
	c, err := redisseq.New(client)
	require.NoError(t, err)
	require.Equal(t, "redis cluster", c.Extras().Name)
}

// TestWaitReplicasFaults: errors of a pipeline with WAIT in a cluster.
func TestWaitReplicasFaults(t *testing.T) {
	t.Parallel()
	s := newMini(t)
	var slots atomic.Value // the reply to CLUSTER SLOTS
	slots.Store(func() ([]redis.ClusterSlot, error) {
		return []redis.ClusterSlot{{Start: 0, End: 16383, Nodes: []redis.ClusterNode{{Addr: s.Addr}}}}, nil
	})
	cluster := func(t *testing.T, f *failing) redis.UniversalClient {
		client := redis.NewClusterClient(&redis.ClusterOptions{
			ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
				return slots.Load().(func() ([]redis.ClusterSlot, error))()
			},
			NewClient: func(o *redis.Options) *redis.Client {
				node := redis.NewClient(o)
				node.AddHook(f)
				return node
			},
		})
		t.Cleanup(func() { _ = client.Close() })
		return client
	}
	single := func(t *testing.T, f *failing) redis.UniversalClient {
		client := s.Client(t)
		client.AddHook(f)
		return client
	}
	moved, here := "MOVED 1 ", s.Addr[strings.LastIndexByte(s.Addr, ':'):] // go-redis drops a loopback host
	for name, c := range map[string]struct {
		client func(*testing.T, *failing) redis.UniversalClient
		err    error
		all    bool
		want   string
	}{
		"no cluster client":     {single, answer(moved + "127.0.0.1:1"), false, "pass a *redis.ClusterClient"},
		"a master that is gone": {cluster, answer(moved + "127.0.0.1:1"), false, "no master of the cluster is at 127.0.0.1:1"},
		"moves for ever":        {cluster, answer(moved + here), true, "moves between servers"},
		"asks for ever":         {cluster, answer("ASK 1 " + here), true, "moves between servers"},
		"cut off":               {cluster, io.EOF, false, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			center, err := redisseq.New(c.client(t, &failing{at: 1, all: c.all, err: c.err}), redisseq.WithWaitReplicas(1, time.Second))
			require.NoError(t, err)
			g, err := center.Acquire(t.Context(), request())
			require.ErrorContains(t, err, c.want)
			require.Zero(t, g)
		})
	}
	t.Run("a cluster that does not know itself", func(t *testing.T) {
		slots.Store(func() ([]redis.ClusterSlot, error) { return nil, errors.New("nobody there") })
		center, err := redisseq.New(cluster(t, &failing{}), redisseq.WithWaitReplicas(1, time.Second))
		require.NoError(t, err)
		_, err = center.Acquire(t.Context(), request())
		require.ErrorContains(t, err, "nobody there")
	})
	require.False(t, strings.Contains(fmt.Sprint(s.Records(t)), "orders"), "nothing was carried out")
}
