package keeper_test

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	mathrand "math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/keeper"
	"github.com/snowlease/snowlease/lease"
)

// A custodian answers borrows as answer says, and notes who asked. While it is late, it
// carries out a release only when arrive is called, long after its caller gave up.
type custodian struct {
	lease.Center
	answer func(context.Context, lease.Grant) lease.Grant // nil: as it is
	owners [][16]byte
	lent   lease.Grant // the last, as the center knows it
	late   bool
	queue  []func() error
}

func (c *custodian) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	c.owners = append(c.owners, req.Owner)
	g, err := c.Center.Acquire(ctx, req)
	c.lent = g
	if answer := c.answer; err == nil && answer != nil {
		g = answer(ctx, g)
	}
	return g, err
}

func (c *custodian) Release(ctx context.Context, g lease.Grant, lastUsed int64) error {
	if !c.late {
		return c.Center.Release(ctx, g, lastUsed)
	}
	lent := c.lent
	c.queue = append(c.queue, func() error { return c.Center.Release(context.Background(), lent, lastUsed) })
	<-ctx.Done()
	return ctx.Err()
}

func (c *custodian) arrive() {
	for _, release := range c.queue {
		_ = release()
	}
}

// What a Keeper has asked to give back may become free at any later time. It uses nothing of
// it, even if the same owner would be lent it again.
func TestReleaseThatArrivesLateFreesNothingInUse(t *testing.T) {
	for name, spoil := range map[string]func(context.Context, lease.Grant) lease.Grant{
		"the process pauses with the answer": func(_ context.Context, g lease.Grant) lease.Grant {
			time.Sleep(3 * time.Second)
			return g
		},
		"the generator refuses the range": func(_ context.Context, g lease.Grant) lease.Grant {
			g.Worker = layout.Workers()
			return g
		},
	} {
		named(t, name, func(t *testing.T, r *rig) {
			c := &custodian{Center: r.center}
			r.member(func(cfg *keeper.Config) { cfg.Center = c })
			first := r.start()
			c.answer = func(ctx context.Context, g lease.Grant) lease.Grant {
				c.answer, c.late = nil, true
				return spoil(ctx, g)
			}
			r.expire(first.Worker)
			time.Sleep(40 * time.Second)
			synctest.Wait()
			mine, gen, k := r.keeper.Status().Grant, r.gen, r.keeper
			require.NotEqual(t, first.Token, mine.Token)
			c.late = false
			defer func() { _ = k.Stop(context.Background()) }()
			c.arrive()

			require.False(t, r.slot(mine.Worker).Free(), "it is in use")
			r.member(func(cfg *keeper.Config) { cfg.Request.First, cfg.Request.Last = mine.Worker, mine.Worker })
			if r.keeper.Start(t.Context()) == nil {
				require.Zero(t, shared(batch(t, gen, r.gen)))
			}
		})
	}
}

// An answer that comes when the call's time is up counts as lost: nothing is given back,
// and the same owner asks again.
func TestLateAnswerOfABorrowIsAskedForAgain(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		c := &custodian{Center: r.center}
		r.member(func(cfg *keeper.Config) { cfg.Center = c })
		for range 2 { // at the start, and after a loss
			c.owners = nil
			c.answer = func(ctx context.Context, g lease.Grant) lease.Grant {
				c.answer = nil
				<-ctx.Done()
				return g
			}
			if st := r.keeper.Status(); st.State == keeper.Idle {
				r.start()
			} else {
				r.expire(st.Grant.Worker)
				time.Sleep(20 * time.Second)
				synctest.Wait()
			}
			require.Len(t, c.owners, 2)
			require.Equal(t, c.owners[0], c.owners[1])
			require.Equal(t, 1, r.lent())
			r.next()
		}
		require.EqualValues(t, 2, r.keeper.Status().Failures)
	})
}

// A Keeper that abandons a borrow leaves nothing lent, whatever becomes of the call and its answer.
// A copy of the process may use the grant.
func TestBorrowThatIsGivenUpLeavesNothingLent(t *testing.T) {
	type call = func() (lease.Grant, error)
	var late call
	var cut error // of the context, before the answer could tell what to give back
	reset := errors.New("connection reset")
	for name, answer := range map[string]func(ctx context.Context, carryOut call) (lease.Grant, error){
		"the answer is lost": func(_ context.Context, carryOut call) (lease.Grant, error) {
			_, _ = carryOut()
			return lease.Grant{}, reset
		},
		"the call arrives when all is over": func(_ context.Context, carryOut call) (lease.Grant, error) {
			late = carryOut
			return lease.Grant{}, reset
		},
		"the answer takes a moment": func(ctx context.Context, carryOut call) (lease.Grant, error) {
			sleepWithin(ctx, 900*time.Millisecond)
			cut = ctx.Err()
			return carryOut()
		},
	} {
		for by, giveUp := range map[string]func(r *rig, cancel func()){
			"context": func(_ *rig, cancel func()) { cancel() },
			"stop":    func(r *rig, _ func()) { go func() { _ = r.keeper.Stop(context.Background()) }() },
			"reset": func(r *rig, cancel func()) {
				cancel()
				_ = r.keeper.Reset(context.Background())
			},
		} {
			named(t, name+"/"+by, func(t *testing.T, r *rig) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				c := &deaf{Center: r.center}
				r.member(func(cfg *keeper.Config) { cfg.Center = c })
				c.answer = func(ctx context.Context, carryOut call) (lease.Grant, error) {
					go giveUp(r, cancel)
					synctest.Wait()
					return answer(ctx, carryOut)
				}
				late, cut = nil, nil
				if by != "stop" {
					require.Error(t, r.keeper.Start(ctx))
				} else { // after a loss
					first := c.answer
					c.answer = nil
					r.start()
					c.answer = first
					r.expire(r.keeper.Status().Grant.Worker)
					time.Sleep(lease.DefaultTTL)
					synctest.Wait()
				}
				require.NoError(t, cut)
				if late != nil {
					_, err := late()
					require.Equal(t, by != "reset", errors.Is(err, lease.ErrLost))
				}
				require.Equal(t, by == "reset", r.lent() == 1)
			})
		}
	}
}

// A deaf center answers the next borrow as answer says.
type deaf struct {
	lease.Center
	answer func(ctx context.Context, carryOut func() (lease.Grant, error)) (lease.Grant, error)
}

func (c *deaf) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	carryOut := func() (lease.Grant, error) { return c.Center.Acquire(context.WithoutCancel(ctx), req) }
	if answer := c.answer; answer != nil {
		c.answer = nil
		return answer(ctx, carryOut)
	}
	return carryOut()
}

// A process that is copied while it holds a lease has no owner yet for its next borrow, which
// the copies would share.
func TestOwnerIsMadeWhenItIsNeeded(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		made := &counted{}
		former := rand.Reader
		rand.Reader = made
		defer func() { rand.Reader = former }()
		for n := range 3 {
			if n == 0 {
				r.start()
			} else {
				r.expire(r.keeper.Status().Grant.Worker)
			}
			time.Sleep(time.Hour)
			require.EqualValues(t, n+1, made.Load())
			require.EqualValues(t, n, r.keeper.Status().Losses)
		}
		require.NoError(t, r.keeper.Stop(t.Context()))
	})
}

// counted counts reads of random bytes.
type counted struct{ atomic.Int64 }

func (c *counted) Read(b []byte) (int, error) {
	c.Add(1)
	binary.LittleEndian.PutUint64(b, mathrand.Uint64())
	binary.LittleEndian.PutUint64(b[8:], mathrand.Uint64())
	return len(b), nil
}

// A center that answers with no grant, or with another owner's, is never believed, and what
// it answered is not given back.
func TestGrantOfAnotherOwnerIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.start()
		theirs, k := r.keeper.Status().Grant, r.keeper
		defer func() { require.NoError(t, k.Stop(context.Background())) }()
		for _, g := range []lease.Grant{{}, theirs} {
			r.member(func(cfg *keeper.Config) {
				cfg.Center = &custodian{Center: r.center, answer: func(context.Context, lease.Grant) lease.Grant { return g }}
			})
			released := r.calls("release")
			began := time.Now()
			err := r.keeper.Start(t.Context())
			require.ErrorIs(t, err, lease.ErrSetup)
			require.ErrorContains(t, err, "another owner")
			require.Zero(t, time.Since(began))
			require.Empty(t, *released)
			require.Zero(t, r.keeper.Status().Grant)
		}
		require.False(t, r.slot(theirs.Worker).Free())
	})
}

// A Start with an ended context shows since when it fails.
func TestStartWithAnEndedContext(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("the app gave up")
		cancel(gone)
		asked := r.calls("acquire")
		for range 20 { // it is no race with the wait for another Start
			require.ErrorContains(t, r.keeper.Start(ctx), "borrow a worker id")
		}
		require.Empty(t, *asked)
		st := r.keeper.Status()
		require.ErrorIs(t, st.Err, gone)
		require.Equal(t, time.Now(), st.FailingSince)
	})
}
