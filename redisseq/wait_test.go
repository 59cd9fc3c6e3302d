//go:build prove

package redisseq_test

import (
	"context"
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

// waiting is for calls that succeed, hasty for calls that time out.
var (
	waiting = redisseq.WithWaitReplicas(1, 2*time.Second)
	hasty   = redisseq.WithWaitReplicas(1, 50*time.Millisecond)
)

func TestWaitReplicasContract(t *testing.T) {
	t.Parallel()
	leasetest.Run(t, reused(t, func(t testing.TB) *store {
		s, primary, replica := startReplicated(t, waiting)
		restart := s.Restart
		s.Restart = func(t testing.TB) {
			restart(t)
			replica.Follow(primary)
		}
		return s
	}))
}

func TestWaitReplicasLendsNothingWithoutThem(t *testing.T) {
	t.Parallel()
	s, primary, replica := startReplicated(t, hasty)
	c, err := open(t, s.Client(t), waiting)
	require.NoError(t, err)
	require.NoError(t, c.Extras().Init(t.Context(), request()))
	g := acquire(t, c)
	refused := func(got lease.Grant, err error) {
		t.Helper()
		require.ErrorIs(t, err, redisseq.ErrNotReplicated)
		require.NotErrorIs(t, err, lease.ErrLost)
		require.ErrorContains(t, err, "0 of 1")
		require.ErrorContains(t, err, s.Addr)
		require.Zero(t, got)
	}
	req := request()
	for name, cut := range map[string][2]func(){
		"the replica hangs":  {replica.Pause, replica.Resume},
		"the link is broken": {replica.CutLink, func() { replica.Follow(primary) }},
	} {
		cut[0]()
		for range 3 { // repeated on another connection, with nothing new
			refused(s.center(t).Acquire(t.Context(), req))
			refused(s.center(t).Renew(t.Context(), g))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := c.Renew(ctx, g)
		require.Error(t, err, "%s: the context bounds the wait", name)
		cut[1]()
		require.Eventually(t, func() bool {
			again, err := c.Renew(t.Context(), g)
			if err == nil {
				require.Equal(t, g.Token, again.Token)
			}
			return err == nil
		}, 20*time.Second, 20*time.Millisecond, name)
	}

	// It stayed lent to the same owner.
	held, err := c.Acquire(t.Context(), req)
	require.NoError(t, err)
	again, err := c.Acquire(t.Context(), req)
	require.NoError(t, err)
	held.Now = again.Now
	require.Equal(t, held, again)

	user(t, s, ">secret", "~snowlease:*", "+@all", "-wait")
	client := redis.NewClient(&redis.Options{Addr: s.Addr, Username: "app", Password: "secret"})
	t.Cleanup(func() { _ = client.Close() })
	denied, err := open(t, client, waiting)
	require.NoError(t, err)
	_, err = denied.Renew(t.Context(), g)
	require.ErrorContains(t, err, "WAIT: NOPERM")

	replica.CutLink()
	require.NoError(t, c.Release(t.Context(), g, g.Now), "a release waits for nobody")
	_, err = s.center(t).Acquire(t.Context(), request(func(r *lease.Request) { r.First = held.Worker; r.Last = held.Worker }))
	require.ErrorAs(t, err, new(*lease.NoFreeWorkerError), "what lends nothing waits for nobody")
}

// Every reply with a grant follows a write, because without one WAIT could acknowledge an
// earlier state.
func TestWaitReplicasAlwaysHasAWriteToWaitFor(t *testing.T) {
	t.Parallel()
	s := newReal(t)
	soon := func(r *lease.Request) { r.Skew, r.MaxLead = 100*time.Millisecond, r.MaxTTL-100*time.Millisecond }
	c := opened(t, s, soon)
	changes := func() string {
		t.Helper()
		info, err := s.Admin.InfoMap(t.Context(), "persistence").Result()
		require.NoError(t, err)
		return info["Persistence"]["rdb_changes_since_last_save"]
	}
	req := request(soon, func(r *lease.Request) { r.TTL = 20 * time.Second })
	var g lease.Grant
	for i, verb := range []func() (lease.Grant, error){
		func() (lease.Grant, error) { return c.Acquire(t.Context(), req) },
		func() (lease.Grant, error) { return c.Acquire(t.Context(), req) },
		func() (lease.Grant, error) { return c.Renew(t.Context(), g) },
		func() (lease.Grant, error) { // neither mark nor expiry rises
			g.TTL = 5 * time.Second
			return c.Renew(t.Context(), g)
		},
		func() (lease.Grant, error) { // above a loss
			s.Drop(t, "orders", leasetest.OneMark)
			s.Sleep(requireQuarantine(t, c, soon).Wait())
			return c.Renew(t.Context(), g)
		},
	} {
		before := changes()
		var err error
		g, err = verb()
		require.NoError(t, err)
		require.NotEqual(t, before, changes(), "verb %d", i)
	}
}

func TestWaitReplicasTakesOneRoundTrip(t *testing.T) {
	t.Parallel()
	s, _, _ := startReplicated(t)
	opened(t, s)
	for _, options := range [][]redisseq.Option{nil, {redisseq.WithWaitReplicas(0, 0)}, {waiting}} {
		var trips atomic.Int64
		c, err := open(t, s.Client(t), options...)
		require.NoError(t, err)
		redisseq.Client(c).AddHook(redistest.Hook(func(_ []redis.Cmder, call func() error) error {
			trips.Add(1)
			return call()
		}))
		require.NoError(t, redisseq.Client(c).Ping(t.Context()).Err()) // connecting takes more round trips
		for _, known := range []bool{false, true} {
			if !known {
				require.NoError(t, s.Admin.ScriptFlush(t.Context()).Err())
			}
			trips.Store(0)
			g := acquire(t, c)
			if known {
				require.EqualValues(t, 1, trips.Swap(0))
			} else {
				require.EqualValues(t, 2, trips.Swap(0), "the script was not known")
			}
			g = renew(t, c, g)
			trips.Store(0)
			g = renew(t, c, g)
			require.EqualValues(t, 1, trips.Swap(0))
			require.NoError(t, c.Release(t.Context(), g, g.Now))
		}
	}
}

// A master that is cut off from its replica keeps renewing for a client that still
// reaches it. Meanwhile the replica is promoted and lends the worker id again above its
// quarantine. With WAIT, the holder at the old master gets no higher ceiling. Without
// WAIT it does, and the ranges overlap.
func TestWaitReplicasSplitBrain(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]bool{"without WAIT": false, "with WAIT": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var options []redisseq.Option
			if wait {
				options = append(options, hasty)
			}
			s, primary, replica := startReplicated(t, options...)
			old := opened(t, s, pool(1))
			g := acquire(t, at(t, primary).center(t), pool(1))
			require.EqualValues(t, 1, s.Admin.Do(t.Context(), "WAIT", 1, 20_000).Val())

			replica.CutLink()
			replica.Promote()
			promoted := at(t, replica).center(t)
			end := time.UnixMilli(horizon(requireQuarantine(t, promoted, pool(1))) + 1)
			for shift := time.Duration(0); time.Now().Add(shift).Before(end); shift += 5 * time.Second {
				primary.ShiftClock(shift)
				if again, err := old.Renew(t.Context(), g); err == nil {
					g = again
				} else {
					require.ErrorIs(t, err, redisseq.ErrNotReplicated)
				}
			}
			require.Equal(t, wait, g.Ceiling < end.UnixMilli())
			replica.ShiftClock(time.Until(end) + time.Second)
			next := acquire(t, promoted, pool(1))
			require.Equal(t, g.Worker, next.Worker)
			require.Equal(t, wait, g.Ceiling <= next.Floor)
		})
	}
}

func TestContractWithoutIncarnation(t *testing.T) {
	t.Parallel()
	leasetest.Run(t, newNever)
}
