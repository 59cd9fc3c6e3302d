package segment

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/snowlease/snowlease/internal/numberstore"
)

const (
	// answerTime bounds one reservation, in case the store hangs. The prefetched
	// numbers usually last longer.
	answerTime = 5 * time.Second

	firstRetry, lastRetry = 50 * time.Millisecond, 2 * time.Second
)

// prefetch keeps one chunk reserved behind the current one. tail is the last chunk of
// the chain.
func (i *Issuer) prefetch(ctx context.Context, tail *chunk) {
	defer close(i.done)
	steps := numberstore.Steps{Min: i.cfg.MinStep, Max: i.cfg.MaxStep, Cover: i.cfg.Cover}
	step, used, at := i.cfg.Step, int64(0), time.Now()
	for {
		for i.cur.Load() != tail {
			select {
			case <-i.kick:
			case <-ctx.Done():
				return
			}
		}
		// Once per chunk, not per attempt: an outage says nothing about the rate.
		now, n := time.Now(), i.consumed()
		step = steps.Next(step, n-used, now.Sub(at))
		used, at = n, now
		var next *chunk
		for linked := false; !linked; {
			copies := i.copies.Load()
			got, ok := i.obtain(ctx, step)
			if !ok {
				return
			}
			next = &chunk{n: got.Len(), base: got.First - 1, prior: tail.prior + tail.n}
			linked = i.current(copies, func() { tail.next.Store(next) })
		}
		tail = next
		i.report(nil) // after the link, so that those who wake up find it
	}
}

// obtain reserves numbers and retries until it succeeds. It returns false if ctx has
// ended or no number will ever be left.
func (i *Issuer) obtain(ctx context.Context, step int64) (numberstore.Range, bool) {
	for delay := firstRetry; ; delay = min(2*delay, lastRetry) {
		n := max(step, min(i.short.Load(), i.cfg.MaxStep))
		got, err := i.reserve(ctx, n, false)
		if err == nil {
			i.mu.Lock()
			i.stats.step = n
			i.mu.Unlock()
			return got, true
		}
		if ctx.Err() != nil {
			return numberstore.Range{}, false
		}
		i.report(err)
		if errors.Is(err, ErrEnd) || pause(ctx, delay/2+rand.N(delay)) != nil {
			return numberstore.Range{}, false
		}
	}
}

// reserve asks the store once and records the outcome. own says that the end of ctx
// means a slow store, not a caller who has left.
func (i *Issuer) reserve(ctx context.Context, n int64, own bool) (numberstore.Range, error) {
	began := time.Now()
	bounded, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	got, err := numberstore.Reserve(bounded, i.store, i.cfg.request(n, i.above.Load()))
	for above := i.above.Load(); got.Last > above && !i.above.CompareAndSwap(above, got.Last); above = i.above.Load() {
	}
	i.count(began, err, err == nil || own || ctx.Err() == nil)
	return got, err
}

func (i *Issuer) report(err error) {
	close(i.turn.Swap(&turn{err: err, done: make(chan struct{})}).done)
}
