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
	mu    sync.Mutex // held while a line is logged, which keeps the lines in order
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
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer == nil {
		o.timer = time.AfterFunc(k.left(lent), k.expired)
	} else {
		o.timer.Reset(k.left(lent))
	}
	if !o.since.IsZero() {
		k.cfg.Logger.Info("ids resumed", "worker", lent.Worker, "namespace", k.cfg.Request.Namespace, "center", lease.Name(k.cfg.Center),
			"after", time.Since(o.since).Round(time.Millisecond))
	}
	o.lent, o.since, o.told = lent, time.Time{}, time.Time{}
}

// left returns how long a range still yields ids, on the generator's clock.
func (k *Keeper) left(r generator.Range) time.Duration {
	l := k.cfg.Generator.Layout()
	_, last := l.Ticks(r.Floor, r.Ceiling)
	return time.Duration(l.TickTime(last+1).UnixMilli()-r.Now)*time.Millisecond - (k.cfg.Generator.Elapsed() - r.At)
}

// remindEvery is the interval at which the log repeats that there are no ids.
const remindEvery = 30 * time.Second

// expired runs when ids should have stopped.
func (k *Keeper) expired() {
	o := &k.outage
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer == nil { // nothing is logged
		return
	}
	switch err := k.cfg.Generator.Err(); {
	case err == nil: // already extended, perhaps by the caller; or the generator's clock is slow
		o.timer.Reset(max(k.left(o.lent), time.Second/10))
	case errors.Is(err, generator.ErrLeaseExpired) && time.Since(o.told) >= remindEvery:
		o.timer.Reset(remindEvery)
		o.told = time.Now()
		st := k.Status()
		args := []any{
			"worker", o.lent.Worker, "namespace", k.cfg.Request.Namespace, "center", lease.Name(k.cfg.Center),
			"ceiling", time.UnixMilli(o.lent.Ceiling), "failing_since", st.FailingSince, "err", st.Err,
		}
		if !o.since.IsZero() {
			k.cfg.Logger.Error("still no ids: the lease has expired", args...)
			return
		}
		o.since = o.told.Add(min(0, k.left(o.lent))) // a paused process gets here late
		k.cfg.Logger.Error("ids stopped: the lease has expired", args...)
	}
}

func (o *outage) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since, o.told = (time.Time{}), (time.Time{}); o.timer != nil {
		o.timer.Stop()
	}
}
