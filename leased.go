package snowlease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/keeper"
	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/internal/source"
	"github.com/snowlease/snowlease/lease"
)

// leased issues ids with a worker id leased from a center.
type leased struct {
	generated
	keeper *keeper.Keeper
	center lease.Extras
	pool   Pool
}

func newLeased(center lease.Center, cfg Config, req lease.Request) *leased {
	l := &leased{generated: newGenerator(cfg), center: center.Extras(), pool: Pool{Size: req.Pool, First: req.First, Last: req.Last}}
	l.center.Name = lease.Name(center)
	l.keeper = keeper.New(keeper.Config{
		Center: center, Generator: l.gen, Request: req, Schedule: cfg.Schedule, Wait: cfg.Wait,
		ExactTimes: cfg.ExactTimes, OnLost: cfg.OnLost, Logger: cfg.Logger,
	})
	return l
}

func (l *leased) Start(ctx context.Context) ([]any, error) {
	if err := l.keeper.Start(ctx); err != nil {
		return nil, err
	}
	facts := []any{"pool", fmt.Sprintf("%d-%d of %d", l.pool.First, l.pool.Last, l.pool.Size), "good_for_replicas", l.pool.Replicas()}
	if g := l.keeper.Status().Grant; g.Floor > g.Now {
		ahead := time.Duration(g.Floor-g.Now) * time.Millisecond // for this long, ids are ahead of the clock
		facts = append(facts, "ids_ahead", ahead)
	}
	return facts, nil
}

func (l *leased) Close() error { return l.keeper.Stop(context.Background()) }

// Reset fails for a center of one host, because the copy may have the same host.
func (l *leased) Reset(ctx context.Context) error {
	if l.center.Uniqueness != "" {
		return errCopies
	}
	return l.keeper.Reset(ctx)
}

func (l *leased) Explain(err error) error { return l.keeper.Explain(err) }

func (l *leased) Report(st *Status) {
	k := l.keeper.Status()
	st.Renewals, st.Failures, st.Losses, st.Renewed, st.Err = k.Renewals, k.Failures, k.Losses, k.Renewed, k.Err
	st.FailingSince, st.Now, st.Reason = k.FailingSince, l.keeper.Now(), k.Reason
	if g := k.Grant; g != (lease.Grant{}) {
		st.Worker, st.Token, st.Pin = g.Worker, g.Token, g.Pinned.String()
		st.Floor, st.Ceiling, st.Since = printable.Time(g.Floor), printable.Time(g.Ceiling), printable.Time(g.Since)
	}
	switch k.State {
	case keeper.Quarantined:
		st.State = StateQuarantined
	case keeper.Borrowing:
		st.State = StateBorrowing
	}
	l.report(st)
}

func (l *leased) Extras() lease.Extras { return l.center }

// generated is the common part of leased and fixed.
type generated struct{ gen *generator.Generator }

func newGenerator(cfg Config) generated {
	return generated{generator.New(cfg.Layout, generator.WithMaxAhead(cfg.MaxAhead))}
}

func (g generated) For(business int64) (source.Stream, error) { return g.gen.For(business) }

func (g generated) Err() error { return g.gen.Err() }

func (g generated) report(st *Status) {
	st.Issued, st.Waits, st.Lead = g.gen.Issued(), g.gen.Waits(), g.gen.Lead()
	switch err := g.gen.Err(); {
	case errors.Is(err, ErrClosed):
		st.State = StateStopped
	case errors.Is(err, ErrNotStarted) && st.State != StateQuarantined:
		st.State = StateNotStarted
	case errors.Is(err, ErrLeaseExpired):
		st.State = StateExpired
	}
}
