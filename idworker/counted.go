package idworker

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/internal/bounded"
	"github.com/snowlease/snowlease/internal/counter"
	"github.com/snowlease/snowlease/internal/source"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq"
)

// counted issues ids that Redis counts (mode redis-sequence).
type counted struct {
	*counter.Counter
	plan plan
}

func newCounted(p plan, o wiring) (counted, error) {
	client, err := o.needRedis("mode " + string(p.Mode))
	if err != nil {
		return counted{}, err
	}
	p.sequence.Logger = o.Logger
	seq, err := counter.New(client, p.sequence, redisseq.WithDurable(p.Store.Durable),
		redisseq.WithWaitReplicas(p.Store.WaitReplicas, p.replicaTime()))
	if err != nil {
		return counted{}, fmt.Errorf("mode %s: %w", p.Mode, err)
	}
	return counted{seq, p}, nil
}

func (c counted) Start(ctx context.Context) ([]any, error) {
	within, cancel := bounded.Start(ctx, c.plan.Wait)
	defer cancel()
	err := c.Counter.Start(within)
	if err != nil {
		_ = c.Close() // always nil
	}
	return nil, err
}

// Reset discards the ids that are reserved ahead, because copies share nothing else.
func (c counted) Reset(context.Context) error {
	c.Counter.Reset()
	return nil
}

func (c counted) For(business int64) (source.Stream, error) { return c.Counter.For(business) }

func (counted) Explain(err error) error { return err }

func (c counted) Report(st *snowlease.Status) {
	q := c.Status()
	st.Sequence, st.Worker, st.Issued = &q, q.Worker, q.Issued
	st.Pool.First, st.Pool.Last = q.Worker, q.Worker
	err := c.Err()
	switch quarantine := (*lease.QuarantineError)(nil); {
	case err == nil:
		return
	case errors.Is(err, snowlease.ErrClosed):
		st.State = snowlease.StateStopped
	case errors.As(err, &quarantine):
		st.State = snowlease.StateQuarantined
	case errors.Is(err, snowlease.ErrNotStarted):
		st.State = snowlease.StateNotStarted
	default:
		st.State = snowlease.StateUnavailable
	}
	st.Err, st.FailingSince = q.Err, q.FailingSince
}

func (c counted) Extras() lease.Extras {
	return lease.Extras{Name: c.String(), Warnings: c.Warnings()}
}
