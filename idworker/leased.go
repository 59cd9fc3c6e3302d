package idworker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/keeper"
	"github.com/snowlease/snowlease/snowflake"
)

// leased issues ids under a worker id lent by a center.
type leased struct {
	generated
	keeper  *keeper.Keeper
	center  lease.Extras
	closing func() error // closes an owned center, once
	plan    plan
	log     *slog.Logger
}

// newLeased returns a source that borrows from center, and closes it if it owns it.
func newLeased(p plan, center lease.Center, owns bool, o options) (*leased, error) {
	l := &leased{center: center.Extras(), closing: func() error { return nil }, plan: p, log: o.log}
	l.center.Name = lease.Name(center)
	if owns && l.center.Close != nil {
		var once sync.Once
		l.closing = func() (err error) {
			once.Do(func() { err = l.center.Close() })
			return err
		}
	}
	var err error
	if l.gen, err = snowflake.NewGenerator(p.layout, p.options...); err == nil {
		l.keeper, err = keeper.New(keeper.Config{
			Center: center, Generator: l.gen, Request: p.request, Schedule: p.schedule, Wait: p.Wait,
			ExactTimes: p.Store.ExactTimes, OnLost: l.lost(o.shutdown), Logger: o.log,
		})
	}
	if err != nil {
		return nil, errors.Join(err, l.closing())
	}
	return l, nil
}

func (l *leased) lost(shutdown func()) func(error) {
	if l.plan.Lease.OnLost != OnLostShutdown {
		return nil
	}
	return func(cause error) {
		// fx does not pass the error on, so log it.
		l.log.Error("idworker: shutting down: on_lost is shutdown", "namespace", l.plan.Namespace, "err", cause)
		go shutdown()
	}
}

func (l *leased) start(ctx context.Context) ([]any, error) {
	if p := l.plan; p.renewGiven && sparse(p.schedule, time.Now(), p.Lease.TTL/3) {
		l.log.Warn("renew is sparser than a third of ttl; the lease is renewed after a third of ttl", "renew", p.Lease.Renew, "ttl", p.Lease.TTL)
	}
	if err := l.keeper.Start(ctx); err != nil {
		return nil, errors.Join(err, l.closing()) // fx stops no hook that failed to start
	}
	pool := poolOf(l.plan)
	facts := []any{"pool", fmt.Sprintf("%d-%d of %d", pool.First, pool.Last, pool.Size), "good_for_replicas", pool.Replicas()}
	if g := l.keeper.Status().Grant; g.Floor > g.Now {
		ahead := time.Duration(g.Floor-g.Now) * time.Millisecond // until the clock has caught up
		facts = append(facts, "ids_ahead", ahead)
	}
	return facts, nil
}

// stop stops the generator, gives the worker id back and closes the center, in this order.
func (l *leased) stop(ctx context.Context) error { return errors.Join(l.keeper.Stop(ctx), l.closing()) }

func (l *leased) reset(ctx context.Context) error {
	if l.plan.Mode == ModeLocal {
		return errCopies
	}
	return l.keeper.Reset(ctx)
}

// explain says why there is no worker id, or else what to do.
func (l *leased) explain(err error) error {
	if why := l.keeper.Explain(err); why != err { //nolint:errorlint // whether the keeper adds something
		return why
	}
	return advise(err)
}

func (l *leased) lent() error {
	if err := l.err(); errors.Is(err, ErrStopped) {
		return err
	}
	if l.keeper.Status().Grant.Token == 0 {
		return l.explain(ErrNotStarted)
	}
	return nil
}

func (l *leased) status(st *Status) {
	k := l.keeper.Status()
	st.Renewals, st.Failures, st.Losses, st.Renewed, st.Err = k.Renewals, k.Failures, k.Losses, k.Renewed, k.Err
	st.FailingSince, st.Now = k.FailingSince, l.keeper.Now()
	if g := k.Grant; g != (lease.Grant{}) {
		st.Worker, st.Token = g.Worker, g.Token
		st.Floor, st.Ceiling, st.Since = printable.Time(g.Floor), printable.Time(g.Ceiling), printable.Time(g.Since)
	}
	switch k.State {
	case keeper.Quarantined:
		st.State = StateQuarantined
	case keeper.Borrowing:
		st.State = StateBorrowing
	}
	l.generated.status(st)
}

func (l *leased) extras() lease.Extras { return l.center }
