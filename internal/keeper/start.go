package keeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowlease/snowlease/internal/bounded"
	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/lease"
)

// Start borrows a worker id and begins to renew it. It waits until Wait has passed or
// until slightly before ctx ends, because fx drops start errors after the deadline.
//
// If that fails, or ctx is canceled, Start releases any grant that it may have received, even if
// the answer was lost. That takes at most 5 s more, and ends before a deadline of ctx unless a
// worker id arrives when that time is up.
//
// After an error, the Keeper holds nothing and may be started again, as after Stop, with another
// owner. Errors wrap the errors of Center.Acquire and name the center. Stop interrupts Start.
func (k *Keeper) Start(ctx context.Context) error {
	k.mu.Lock()
	stops := k.stops
	k.mu.Unlock()
	if !k.enter(ctx) {
		return fmt.Errorf("keeper of namespace %q is busy with another Start, Reset or Stop: %w", k.cfg.Request.Namespace, context.Cause(ctx))
	}
	defer func() { <-k.life }()
	k.mu.Lock()
	if s := k.status.State; k.stops != stops || s != Idle && s != Stopped {
		defer k.mu.Unlock()
		return fmt.Errorf("keeper of namespace %q is %v: it has started, or was stopped during the call", k.cfg.Request.Namespace, s)
	}
	k.status.State, k.status.Grant, k.status.Err, k.status.FailingSince = Borrowing, lease.Grant{}, nil, time.Time{}
	k.lent = generator.Range{}
	k.mu.Unlock()

	ctx, done := k.untilStop(ctx, stops)
	defer done()
	k.cfg.Generator.Resume()
	if err := k.borrowAtStart(ctx); err != nil {
		k.forsake(ctx)
		k.note(Idle, err)
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.begin(ctx)
	return nil
}

// enter waits for life. It reports whether life was free before ctx ended.
func (k *Keeper) enter(ctx context.Context) bool {
	select {
	case k.life <- struct{}{}:
		return true
	default:
	}
	select {
	case k.life <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// untilStop returns a copy of ctx that also ends when Stop has been called more than stops times,
// or when interrupt is called.
func (k *Keeper) untilStop(ctx context.Context, stops int) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.interrupt = func(by string) {
		cancel(fmt.Errorf("keeper of namespace %q was %s during the call", k.cfg.Request.Namespace, by))
	}
	switch {
	case k.stops != stops:
		k.interrupt("stopped")
	case k.hurry > 0:
		k.interrupt("reset")
	}
	return ctx, func() { cancel(nil) }
}

// begin starts the loop. The caller holds mu.
func (k *Keeper) begin(ctx context.Context) {
	loop, cancel := context.WithCancel(context.WithoutCancel(ctx))
	k.cancel, k.ended = cancel, make(chan struct{})
	go k.run(loop)
}

func (k *Keeper) borrowAtStart(ctx context.Context) error {
	began := time.Now()
	k.began = began
	if ctx.Err() != nil {
		return k.attempted(ctx, began, context.Cause(ctx))
	}
	within, cancel := bounded.Start(ctx, k.cfg.Wait)
	defer cancel()
	deadline, _ := within.Deadline()
	k.owner = [16]byte{}
	k.pace = pace{patience: callTimeout, maxPatience: max(DefaultWait, k.cfg.Request.TTL/3), maxPause: min(maxPause, k.cfg.Request.TTL/12)}
	var reason error // the last error other than the end of the time
	for {
		// A call on a dead connection must leave time for another call. But it may take half of the
		// time, because the store may just be slow.
		final, err := k.borrow(within, min(max(k.pace.patience, time.Until(deadline)/2), k.pace.maxPatience))
		switch {
		case err == nil:
			return nil
		case reason == nil || within.Err() == nil && time.Until(deadline) > margin:
			reason = err
		}
		if final || ctx.Err() != nil {
			return k.attempted(ctx, began, reason)
		}
		k.failed(ctx, "worker id not borrowed; retrying", err)
		// The end of the time is not a reason to give up half a pause earlier.
		least, most := k.pause(err)
		most = min(most, max(time.Until(deadline)/2, firstPause))
		again := k.jitter(min(least, most), most)
		ready := again
		if q := (*lease.QuarantineError)(nil); errors.As(err, &q) {
			ready = max(again, q.Wait())
		}
		if !time.Now().Add(ready).Before(deadline) || bounded.Sleep(within, again) != nil {
			return k.attempted(ctx, began, reason)
		}
	}
}
