package keeper_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/keeper"
	"github.com/snowlease/snowlease/snowflake"
)

// twin answers the first borrow with the grant of another Keeper, as the memory of a
// copied process would.
type twin struct {
	lease.Center
	grant lease.Grant
}

func (c *twin) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	if g := c.grant; g != (lease.Grant{}) {
		c.grant = lease.Grant{}
		return g, nil
	}
	return c.Center.Acquire(ctx, req)
}

// batch is as many ids as fill a tick, so that processes that share a tick share ids.
func batch(t *testing.T, gens ...*snowflake.Generator) (ids [][]int64) {
	t.Helper()
	for _, g := range gens {
		some := make([]int64, layout.PerTick())
		require.NoError(t, g.NextIDs(t.Context(), some))
		ids = append(ids, some)
	}
	return ids
}

func shared(ids [][]int64) (n int) {
	seen := map[int64]bool{}
	for _, some := range ids {
		for _, id := range some {
			if seen[id] {
				n++
			}
			seen[id] = true
		}
	}
	return n
}

func TestCopiesOfAProcessShareNoIDAfterReset(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.start()
		original, gen := r.keeper, r.gen
		defer func() { require.NoError(t, original.Stop(t.Context())) }()
		worker := original.Status().Grant.Worker

		var center *twin
		r.member(func(cfg *keeper.Config) {
			center = &twin{cfg.Center, original.Status().Grant}
			cfg.Center = center
		})
		r.start()
		require.Positive(t, shared(batch(t, gen, r.gen)), "a copy that is not reset")
		time.Sleep(30 * time.Second) // both renew
		require.Positive(t, shared(batch(t, gen, r.gen)), "a copy that is not reset")

		before := batch(t, r.gen)[0]
		require.NoError(t, r.keeper.Reset(t.Context()))
		require.NotEqual(t, worker, r.keeper.Status().Grant.Worker)
		for range 10 {
			time.Sleep(7 * time.Second)
			both := batch(t, gen, r.gen)
			require.Zero(t, shared(both))
			require.Greater(t, both[1][0], before[len(before)-1], "ids rise across a reset")
		}
		require.Zero(t, original.Status().Losses)
		require.False(t, r.slot(worker).Free())
	})
}

func TestResetWhileTheCenterIsDown(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.start()
		worker, token := r.keeper.Status().Grant.Worker, r.keeper.Status().Grant.Token
		up := r.down()
		require.ErrorContains(t, r.keeper.Reset(t.Context()), "connection refused")
		require.Equal(t, keeper.Borrowing, r.keeper.Status().State)
		_, err := r.gen.NextID()
		require.ErrorIs(t, err, snowflake.ErrNotStarted)
		time.Sleep(time.Minute)
		_, err = r.gen.NextID()
		require.ErrorIs(t, err, snowflake.ErrNotStarted)
		up()
		time.Sleep(3 * time.Second)
		r.next()
		g := r.keeper.Status().Grant
		require.NotEqual(t, [2]int64{worker, token}, [2]int64{g.Worker, g.Token})
		require.NoError(t, r.keeper.Status().Err)
	})
}

// A renewal under way when the process is reset changes nothing.
func TestResetDuringARenewal(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.start()
		old := r.keeper.Status().Grant
		hangs := make(chan struct{})
		first := true
		r.center.Intercept(func(ctx context.Context, verb string, after bool) error {
			if verb == "renew" && after && first {
				first = false
				close(hangs)
				<-ctx.Done()
			}
			return nil
		})
		<-hangs
		require.NoError(t, r.keeper.Reset(t.Context()))
		require.NotEqual(t, old.Worker, r.keeper.Status().Grant.Worker)
		require.Equal(t, r.keeper.Status().Grant.Worker, r.next().Worker)
		require.Positive(t, r.slot(old.Worker).Expires, "forgotten, not given back")
		require.False(t, r.slot(old.Worker).Free())
	})
}

func TestResetOfWhatDoesNotRun(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		require.ErrorContains(t, r.keeper.Reset(t.Context()), "idle")
		r.start()
		require.NoError(t, r.keeper.Stop(t.Context()))
		require.ErrorContains(t, r.keeper.Reset(t.Context()), "stopped")
		_, err := r.gen.NextID()
		require.ErrorIs(t, err, snowflake.ErrStopped)
	})
}

func TestStopAfterAResetThatFailed(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.start()
		up := r.down()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, r.keeper.Reset(ctx), context.Canceled)
		require.NoError(t, r.keeper.Stop(t.Context()))
		up()
	})
}
