package keeper

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/lease"
)

// An outage logs when ids stop because the lease has expired, and when they resume. It does so
// whatever the Keeper is doing, and even if nobody requests an id.
type outage struct {
	lines sync.Mutex // keeps the lines in order; end does not hold it, so that a handler may call Stop
	mu    sync.Mutex
	timer *time.Timer
	lent  generator.Range
	since time.Time // zero while ids are issued
	told  time.Time // when the outage was last logged
}

// watch starts waiting for the end of the generator's new range.
func (k *Keeper) watch(ctx context.Context, lent generator.Range) {
	if !k.cfg.Logger.Enabled(ctx, slog.LevelError) {
		return
	}
	o := &k.outage
	o.lines.Lock()
	defer o.lines.Unlock()
	o.mu.Lock()
	since := o.since
	o.lent, o.since, o.told = lent, time.Time{}, time.Time{}
	if o.timer == nil {
		o.timer = time.AfterFunc(k.left(lent), k.expired)
	} else {
		o.timer.Reset(k.left(lent))
	}
	o.mu.Unlock()
	if !since.IsZero() {
		k.cfg.Logger.Info("ids resumed", "worker", lent.Worker, "namespace", k.cfg.Request.Namespace, "center", lease.Name(k.cfg.Center),
			"after", time.Since(since).Round(time.Millisecond))
	}
}

// left returns how long a range still yields ids, on the generator's clock.
func (k *Keeper) left(r generator.Range) time.Duration {
	l := k.cfg.Generator.Layout()
	_, last := l.Ticks(r.Floor, r.Ceiling)
	return time.Duration(l.TickTime(last+1).UnixMilli()-r.Now)*time.Millisecond - (k.cfg.Generator.Elapsed() - r.At)
}

// expired runs when ids should have stopped.
func (k *Keeper) expired() {
	k.outage.lines.Lock()
	defer k.outage.lines.Unlock()
	if lent, stopped, again := k.outage.begin(k); stopped {
		st := k.Status()
		args := []any{
			"worker", lent.Worker, "namespace", k.cfg.Request.Namespace, "center", lease.Name(k.cfg.Center),
			"ceiling", time.UnixMilli(lent.Ceiling), "failing_since", st.FailingSince, "err", st.Err,
		}
		if again {
			k.cfg.Logger.Error("still no ids: the lease has expired", args...)
		} else {
			k.cfg.Logger.Error("ids stopped: the lease has expired", args...)
		}
	}
}

// remindEvery is the interval at which the log repeats that there are no ids.
const remindEvery = 30 * time.Second

// begin reports whether ids have stopped by now, of which range, and whether it has reported that
// before.
func (o *outage) begin(k *Keeper) (lent generator.Range, stopped, again bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch err := k.cfg.Generator.Err(); {
	case err == nil: // already extended, perhaps by the caller; or the generator's clock is slow
		if o.timer != nil {
			o.timer.Reset(max(k.left(o.lent), time.Second/10))
		}
	case errors.Is(err, generator.ErrLeaseExpired) && time.Since(o.told) >= remindEvery:
		stopped, o.told = true, time.Now()
		if again = !o.since.IsZero(); !again {
			o.since = time.Now().Add(min(0, k.left(o.lent))) // a paused process gets here late
		}
		if o.timer != nil {
			o.timer.Reset(remindEvery)
		}
	}
	return o.lent, stopped, again
}

func (o *outage) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since, o.told = (time.Time{}), (time.Time{}); o.timer != nil {
		o.timer.Stop()
	}
}
