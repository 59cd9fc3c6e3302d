package idworker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/redisseq"
	"github.com/snowlease/snowlease/redisseq/counter"
	"github.com/snowlease/snowlease/snowflake"
)

// OpenSequence is Open for mode redis-sequence: it returns a worker whose ids are
// counted in the Redis of client, until Close, which leaves client open. It waits
// within ctx and cfg.Wait; a namespace that is used for the first time waits for Skew,
// 2 s by default, in any case.
//
// Errors: a fault of cfg; *QuarantineError, *MismatchError, *ClockError; whatever
// Redis answered.
func OpenSequence(ctx context.Context, cfg Config, client redis.UniversalClient, opts ...Option) (*IdWorker, error) {
	p, err := cfg.plan()
	if err != nil {
		return nil, err
	}
	if p.Mode != ModeRedisSequence {
		return nil, fmt.Errorf("idworker: open sequence: the mode is %s: set mode %s, or use Open", p.Mode, ModeRedisSequence)
	}
	w, err := buildSequence(p, client, optionsOf(opts).log)
	if err == nil {
		err = w.start(ctx)
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}

// A sequence issues the ids of mode redis-sequence for a business number.
type sequence struct {
	counter.Stream
	whole *counter.Counter
}

func buildSequence(p plan, client redis.UniversalClient, log *slog.Logger) (*IdWorker, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	p.sequence.Logger = log
	whole, err := counter.New(client, p.sequence, redisseq.WithQuarantine(redisseq.Quarantine(p.Quarantine)),
		redisseq.WithWaitReplicas(p.WaitReplicas, p.replicaTime()))
	if err != nil {
		return nil, fmt.Errorf("idworker: mode %s: %w", p.Mode, err)
	}
	stream, err := whole.For(p.Business)
	if err != nil {
		return nil, fmt.Errorf("idworker: mode %s: %w", p.Mode, err)
	}
	past, err := newPast(p, nil)
	return &IdWorker{seq: &sequence{stream, whole}, plan: p, past: past, sizes: new(batches), log: log}, err
}

func (s *sequence) bound(business int64) (*sequence, error) {
	stream, err := s.whole.For(business)
	if err != nil {
		return nil, err
	}
	return &sequence{stream, s.whole}, nil
}

func (s *sequence) start(ctx context.Context, p plan) error {
	bounded, cancel := within(ctx, p.Wait)
	defer cancel()
	err := s.whole.Start(bounded)
	if err != nil {
		s.whole.Close()
	}
	return err
}

// within bounds ctx by wait, and by a moment before its end, so that an error is heard:
// fx hands on none of a start that its context has outlived.
func within(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	deadline := time.Now().Add(wait)
	if end, ok := ctx.Deadline(); ok {
		if end = end.Add(-min(500*time.Millisecond, time.Until(end)/10)); end.Before(deadline) {
			deadline = end
		}
	}
	return context.WithDeadline(ctx, deadline)
}

// status is the part of a Status that a sequence knows.
func (s *sequence) status(st *Status) {
	q := s.whole.Status()
	st.Sequence, st.Center, st.Worker, st.Issued = &q, q.Center, q.Worker, q.Issued
	st.Pool.First, st.Pool.Last = q.Worker, q.Worker
	err := s.whole.Err()
	switch quarantine := (*QuarantineError)(nil); {
	case err == nil:
		return
	case errors.Is(err, snowflake.ErrStopped):
		st.State = StateStopped
	case errors.As(err, &quarantine):
		st.State = StateQuarantined
	case errors.Is(err, snowflake.ErrNotStarted):
		st.State = StateNotStarted
	default:
		st.State = StateUnavailable
	}
	st.Err = q.Err
}
