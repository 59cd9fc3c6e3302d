package prefetch

import (
	"context"
	"errors"
	"time"

	"github.com/snowlease/snowlease/internal/numberstore"
)

// A rate is the size of the last chunk, and the number of numbers issued when that size was
// chosen.
type rate struct {
	step, used int64
	at         time.Duration
}

// prefetch keeps one chunk reserved after the current one, which is at first the last of the
// chain.
func (e *Issuer) prefetch(ctx context.Context, tail *chunk) {
	var look <-chan time.Time
	if e.Look {
		ticker := time.NewTicker(lookTime)
		defer ticker.Stop()
		look = ticker.C
	}
	for r := (rate{step: e.Step, at: e.Now()}); e.due(ctx, tail, &r, look); {
		e.mu.Lock()
		e.stats.Step = r.step
		e.mu.Unlock()
		if tail = e.link(ctx, tail, r.step); tail == nil {
			return
		}
		e.report(nil) // after the link, so that callers that wake up find it
	}
}

// due waits until a chunk is due after tail, and chooses its size. It returns false if ctx ended
// first. It chooses the size once for each chunk, not for each attempt, because an outage is no
// measure of the rate.
func (e *Issuer) due(ctx context.Context, tail *chunk, r *rate, look <-chan time.Time) bool {
	for ahead := true; ; {
		if short := e.short() > 0; !e.Strict && e.cur.Load() == tail && (short || ahead && tail.used.Load() >= tail.due) {
			now, n := e.Now(), e.issued()
			*r = rate{e.Steps.Next(r.step, n-r.used, now-r.at), n, now}
			if ahead = e.MaxAge == 0 || r.step > 1; ahead || short {
				return true
			}
		}
		select {
		case <-e.kick:
		case <-look:
			if s := e.Stats(); s.Err != nil || s.doubt {
				_, _ = e.Ask(ctx, 0)
			}
		case <-ctx.Done():
			return false
		}
	}
}

// link reserves a chunk and links it after tail. It returns nil if ctx has ended or the store has
// no more numbers.
func (e *Issuer) link(ctx context.Context, tail *chunk, step int64) *chunk {
	over := func(err error) bool { return errors.Is(err, e.Over) }
	for {
		var next *chunk
		copies := e.copies.Load()
		if e.try(ctx, over, func() error {
			asked := e.Now() // the reply may be late
			got, err := e.Ask(ctx, max(step, min(e.short(), e.Most)))
			if next = e.chunk(got, tail.prior+tail.n, asked); err == nil && e.old(next) {
				err = e.Aged
			}
			if err != nil && ctx.Err() == nil {
				e.report(err)
			}
			return err
		}) != nil {
			return nil
		}
		e.mu.Lock()
		mine := e.copies.Load() == copies // otherwise copies of the process may have the same numbers
		if mine {
			tail.next.Store(next)
		}
		e.mu.Unlock()
		if mine {
			return next
		}
	}
}

func (e *Issuer) short() int64 { return e.round.Load().short.Load() }

// Ask calls the store once and records the answer. If n is 0, it reserves nothing.
func (e *Issuer) Ask(ctx context.Context, n int64) (got numberstore.Range, err error) {
	err = e.Call(ctx, func() (err error) {
		got, err = e.Reserve(ctx, n, e.above.Load())
		return err
	})
	if err != nil {
		return numberstore.Range{}, err
	}
	e.given.Add(got.Len())
	for above := e.above.Load(); got.Last > above && !e.above.CompareAndSwap(above, got.Last); above = e.above.Load() {
	}
	return got, nil
}

func (e *Issuer) report(err error) {
	close(e.round.Swap(&round{err: err, done: make(chan struct{})}).done)
}

// Reset discards the numbers that are reserved but not issued. It is for a process that may have
// been copied with its memory, whose copies hold the same numbers. Calls in progress request
// numbers again; in strict order, only such calls hold numbers.
func (e *Issuer) Reset() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.copies.Add(1)
	for e.move(e.cur.Load()) {
	}
	e.drop(e.cur.Load())
	e.copies.Add(1)
}

// resets returns copies, after any Reset in progress has ended.
func (e *Issuer) resets() int64 {
	if n := e.copies.Load(); n%2 == 0 {
		return n
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.copies.Load()
}
