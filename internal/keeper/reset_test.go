package keeper_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/keeper"
	"github.com/snowlease/snowlease/lease"
)

// twin answers the first borrow with the grant of another Keeper, as the memory of a
// copied process would.
type twin struct {
	lease.Center
	grant lease.Grant // zero once it has answered
	owner [16]byte    // of the grant
	asked [16]byte    // by the Keeper that takes itself for the owner
}

func (c *twin) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	if g := c.grant; g != (lease.Grant{}) {
		c.grant, c.owner, c.asked = lease.Grant{}, g.Owner, req.Owner
		g.Owner = req.Owner
		return g, nil
	}
	return c.Center.Acquire(ctx, req)
}

func (c *twin) Renew(ctx context.Context, g lease.Grant) (lease.Grant, error) {
	mine := g.Owner
	g, err := c.Center.Renew(ctx, c.theirs(g))
	g.Owner = mine
	return g, err
}

func (c *twin) Release(ctx context.Context, g lease.Grant, lastUsed int64) error {
	return c.Center.Release(ctx, c.theirs(g), lastUsed)
}

func (c *twin) theirs(g lease.Grant) lease.Grant {
	if g.Owner == c.asked {
		g.Owner = c.owner
	}
	return g
}

// batch is as many ids as fill a tick, so that processes that share a tick share ids.
func batch(t *testing.T, gens ...*generator.Generator) (ids [][]int64) {
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

// original starts the process that is copied. It stops with the test.
func (r *rig) original() (*keeper.Keeper, *generator.Generator, lease.Grant) {
	r.start()
	original := r.keeper
	r.Cleanup(func() { require.NoError(r, original.Stop(context.Background())) })
	return original, r.gen, original.Status().Grant
}

func TestCopiesOfAProcessShareNoIDAfterReset(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		original, gen, g := r.original()

		var center *twin
		r.member(func(cfg *keeper.Config) {
			center = &twin{Center: cfg.Center, grant: g}
			cfg.Center = center
		})
		r.start()
		require.Positive(t, shared(batch(t, gen, r.gen)), "a copy that is not reset")
		time.Sleep(30 * time.Second) // both renew
		require.Positive(t, shared(batch(t, gen, r.gen)), "a copy that is not reset")

		before := batch(t, r.gen)[0]
		require.NoError(t, r.keeper.Reset(t.Context()))
		require.NotEqual(t, g.Worker, r.keeper.Status().Grant.Worker)
		for range 10 {
			time.Sleep(7 * time.Second)
			both := batch(t, gen, r.gen)
			require.Zero(t, shared(both))
			require.Greater(t, both[1][0], before[len(before)-1], "ids rise across a reset")
		}
		require.Zero(t, original.Status().Losses)
		require.False(t, r.slot(g.Worker).Free())
	})
}

// A process may be copied while it borrows. Reset ends the borrow of the copy, or it runs out of
// time. Its answer is the grant that the original uses: nothing gives that back.
func TestResetGivesNoAnswerOfABorrowBack(t *testing.T) {
	for _, late := range []bool{false, true} {
		bubble(t, func(t *testing.T, r *rig) {
			original, gen, g := r.original()

			center := &twin{Center: r.center}
			inHand := make(chan struct{})
			c := &custodian{Center: center}
			r.member(func(cfg *keeper.Config) { cfg.Center = c })
			r.start()
			c.answer = func(ctx context.Context, g lease.Grant) lease.Grant {
				c.answer = nil
				close(inHand)
				if late {
					time.Sleep(3 * time.Second)
				} else {
					<-ctx.Done()
				}
				return g
			}
			center.grant = g
			r.expire(r.keeper.Status().Grant.Worker)
			<-inHand
			if late {
				time.Sleep(30 * time.Second)
				synctest.Wait()
			}
			require.NoError(t, r.keeper.Reset(t.Context()))
			require.NotEqual(t, g.Worker, r.keeper.Status().Grant.Worker)
			require.False(t, r.slot(g.Worker).Free())
			require.Zero(t, shared(batch(t, gen, r.gen)))
			time.Sleep(time.Minute)
			require.Zero(t, original.Status().Losses)
		})
	}
}

// leisurely is a log that takes its time, so that others run in between.
type leisurely struct{}

func (leisurely) Write(b []byte) (int, error) {
	time.Sleep(time.Millisecond)
	return len(b), nil
}

// waiter returns the worker id of the next id, for which a caller waits from now on.
func (r *rig) waiter() (worker chan int64) {
	worker = make(chan int64, 1)
	go func() {
		id, err := r.gen.NextIDWait(context.Background())
		if err != nil {
			r.Error(err)
		}
		p, err := layout.Decode(id)
		if err != nil {
			r.Error(err)
		}
		worker <- p.Worker
	}()
	synctest.Wait()
	return worker
}

// A process may be copied during a Reset, with a caller that waits for an id. When the copy is
// reset, that caller gets nothing of what the first Reset borrowed.
func TestWaiterGetsNothingBorrowedBeforeAReset(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		original, _, g := r.original()

		center := &twin{Center: r.center}
		c := &custodian{Center: center}
		r.member(func(cfg *keeper.Config) { cfg.Center, cfg.Logger = c, slog.New(slog.NewTextHandler(leisurely{}, nil)) })
		r.start()
		inHand := make(chan struct{})
		c.answer = func(_ context.Context, g lease.Grant) lease.Grant {
			c.answer = nil
			close(inHand)
			time.Sleep(time.Second)
			return g
		}
		center.grant = g
		first := make(chan error, 1)
		go func() { first <- r.keeper.Reset(context.Background()) }()
		<-inHand
		worker := r.waiter()
		require.NoError(t, r.keeper.Reset(t.Context()))
		require.NoError(t, <-first, "it borrows again")
		require.NotEqual(t, g.Worker, <-worker)
		require.NotEqual(t, g.Worker, r.keeper.Status().Grant.Worker)
		require.Zero(t, original.Status().Losses)
		require.False(t, r.slot(g.Worker).Free(), "it is not given back either")
	})
}

// The same with a renewal that answers with another range, as after a loss.
func TestWaiterGetsNothingRenewedBeforeAReset(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		original, _, g := r.original()

		c := &lateRenewal{Center: &twin{Center: r.center, grant: g}}
		r.member(func(cfg *keeper.Config) { cfg.Center, cfg.Logger = c, slog.New(slog.NewTextHandler(leisurely{}, nil)) })
		r.start()
		r.center.Reincarnate("another server")
		time.Sleep(40 * time.Second) // the original gets another range; the copy uses up what it has
		require.Greater(t, original.Status().Grant.Floor, g.Floor)
		require.Equal(t, g.Worker, original.Status().Grant.Worker)
		worker := r.waiter()
		asked := make(chan struct{})
		c.asked.Store(&asked)
		<-asked
		require.NoError(t, r.keeper.Reset(t.Context()))
		require.NotEqual(t, g.Worker, <-worker)
	})
}

// lateRenewal renews nothing until it is given a channel, which the next renewal closes. That
// one is answered when its caller gives up.
type lateRenewal struct {
	lease.Center
	asked atomic.Pointer[chan struct{}]
}

func (c *lateRenewal) Renew(ctx context.Context, g lease.Grant) (lease.Grant, error) {
	asked := c.asked.Swap(nil)
	if asked == nil {
		return lease.Grant{}, errRefused
	}
	close(*asked)
	<-ctx.Done()
	return c.Center.Renew(context.WithoutCancel(ctx), g)
}

// An owner that a copy may have too borrows nothing after a Reset, while another is under way.
func TestOwnerOfABorrowBeforeAReset(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		c := &custodian{Center: r.center}
		r.member(func(cfg *keeper.Config) { cfg.Center = c })
		r.start()
		up := r.down()
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- r.keeper.Reset(context.Background()) }()
		synctest.Wait()
		copied := len(c.owners)
		go func() { second <- r.keeper.Reset(context.Background()) }()
		synctest.Wait()
		up()
		require.NoError(t, <-first)
		require.NoError(t, <-second)
		require.Equal(t, 2, copied, "at the start, and without success")
		require.NotContains(t, c.owners[copied:], c.owners[1])
	})
}

// Nor does a Stop under way at a Reset give back what another process may use.
func TestStopUnderWayAtAResetGivesNothingBack(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.start()
		var released atomic.Bool
		asked, answer := make(chan struct{}), make(chan struct{})
		r.center.Intercept(func(_ context.Context, verb string, after bool) error {
			if verb == "renew" && after {
				close(asked)
				<-answer
			}
			if verb == "release" {
				released.Store(true)
			}
			return nil
		})
		<-asked
		stopped, reset := make(chan error, 1), make(chan error, 1)
		go func() { stopped <- r.keeper.Stop(t.Context()) }()
		synctest.Wait()
		go func() { reset <- r.keeper.Reset(t.Context()) }()
		synctest.Wait()
		close(answer)
		require.NoError(t, <-stopped)
		require.ErrorContains(t, <-reset, "stopped")
		require.False(t, released.Load())
	})
}

// A copy that stops without a Reset gives the grant of the original back; after a Reset, it
// does not.
func TestCopyIsResetBeforeItStops(t *testing.T) {
	for _, reset := range []bool{false, true} {
		bubble(t, func(t *testing.T, r *rig) {
			_, gen, g := r.original()
			r.member(func(cfg *keeper.Config) { cfg.Center = &twin{Center: r.center, grant: g} })
			r.start()
			time.Sleep(time.Second)
			if reset {
				require.NoError(t, r.keeper.Reset(t.Context()))
			}
			require.NoError(t, r.keeper.Stop(t.Context()))
			require.Equal(t, reset, !r.slot(g.Worker).Free())
			r.member(func(cfg *keeper.Config) { cfg.Request.First, cfg.Request.Last = g.Worker, g.Worker })
			if reset {
				require.ErrorAs(t, r.keeper.Start(t.Context()), new(*lease.NoFreeWorkerError))
				return
			}
			r.start()
			require.Positive(t, shared(batch(t, gen, r.gen)))
		})
	}
}

// A Reset whose context ends while others are under way still abandons the grant, and ends
// soon, whoever of them gets its turn first.
func TestResetBesideOthers(t *testing.T) {
	for others := 1; others <= 2; others++ {
		bubble(t, func(t *testing.T, r *rig) {
			old := r.start()
			up := r.down()
			ended := make(chan error, others)
			for range others {
				go func() { ended <- r.keeper.Reset(t.Context()) }()
				synctest.Wait()
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			require.ErrorIs(t, r.keeper.Reset(ctx), context.DeadlineExceeded)
			require.Equal(t, time.Second, time.Since(began))
			for range others {
				require.ErrorContains(t, <-ended, "was reset during the call")
			}
			up()
			time.Sleep(3 * time.Second)
			require.NotEqual(t, old.Worker, r.next().Worker)
			require.NoError(t, r.keeper.Status().Err)
		})
	}
}

// What a process held before it was copied is not renewed, however soon the center is back.
func TestResetWhileTheCenterIsDown(t *testing.T) {
	for _, outage := range []time.Duration{0, time.Minute} {
		bubble(t, func(t *testing.T, r *rig) {
			old := r.start()
			up := r.down()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			require.ErrorContains(t, r.keeper.Reset(ctx), "connection refused")
			require.Equal(t, keeper.Borrowing, r.keeper.Status().State)
			for range 2 {
				_, err := r.gen.NextID()
				require.ErrorIs(t, err, generator.ErrNotStarted)
				time.Sleep(outage / 2)
			}
			up()
			time.Sleep(3 * time.Second)
			require.NotEqual(t, old.Worker, r.next().Worker)
			require.NoError(t, r.keeper.Status().Err)
			require.Equal(t, old.Ceiling, r.slot(old.Worker).HighWater, "neither renewed nor given back")
			require.Equal(t, old.Ceiling, r.slot(old.Worker).Expires)
		})
	}
}

// A renewal under way when the process is reset changes nothing.
func TestResetDuringARenewal(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		old := r.start()
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

// Without an error of the center, a Keeper says what it does.
func TestExplain(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		require.EqualError(t, r.keeper.Explain(r.gen.Err()), generator.ErrNotStarted.Error())
		r.start()
		r.freeze(false, "acquire")
		done := make(chan error)
		go func() { done <- r.keeper.Reset(t.Context()) }()
		synctest.Wait()
		stream, err := r.gen.For(0)
		require.NoError(t, err)
		_, err = stream.NextID()
		require.EqualError(t, err, generator.ErrNotStarted.Error())
		require.ErrorIs(t, r.keeper.Explain(err), generator.ErrNotStarted)
		require.ErrorContains(t, r.keeper.Explain(err), "it is being borrowed at this moment")
		require.ErrorIs(t, <-done, context.DeadlineExceeded)
		require.ErrorIs(t, r.keeper.Explain(err), context.DeadlineExceeded, "the last error of the center")
		require.NoError(t, r.keeper.Explain(nil))
	})
}

// Without a lease, the errors of ids name the cause.
func TestErrorsOfIdsNameTheCause(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		require.ErrorIs(t, r.keeper.Explain(r.gen.Err()), generator.ErrNotStarted)
		r.start()
		require.NoError(t, r.keeper.Explain(r.gen.Err()))
		defer r.down()()
		time.Sleep(time.Minute)
		require.Equal(t, keeper.Holding, r.keeper.Status().State)
		err := r.keeper.Explain(r.gen.Err())
		require.ErrorIs(t, err, generator.ErrLeaseExpired)
		require.Regexp(t, `^snowlease: lease expired: no ids until it is renewed \(last renewed 2026-11-20T12:00:\d\dZ, failing since 2026-11-20T12:00:\d\dZ\): .*connection refused$`, err.Error())
	})
}
