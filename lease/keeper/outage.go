package keeper

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// An outage logs the moment when ids stop because the lease has expired, whatever the
// keeper does then and whether anybody asks for an id, and the moment when they resume.
type outage struct {
	mu    sync.Mutex // held while logging, so that the lines are in order
	timer *time.Timer
	lent  snowflake.Range
	since time.Time // zero while ids are issued
}

// watch begins to wait for the end of the range that the generator has got.
func (k *Keeper) watch(ctx context.Context, lent snowflake.Range) {
	if !k.cfg.Logger.Enabled(ctx, slog.LevelError) {
		return
	}
	o := &k.outage
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lent = lent
	if !o.since.IsZero() {
		k.cfg.Logger.Info("ids resumed", "worker", lent.Worker, "namespace", k.cfg.Request.Namespace, "center", lease.Name(k.cfg.Center),
			"after", time.Since(o.since).Round(time.Millisecond))
		o.since = time.Time{}
	}
	if o.timer == nil {
		o.timer = time.AfterFunc(k.left(), k.expired)
	} else {
		o.timer.Reset(k.left())
	}
}

// left returns how long ids go on within the range, by the generator's clock.
func (k *Keeper) left() time.Duration {
	l, r := k.cfg.Generator.Layout(), k.outage.lent
	_, last := l.Ticks(r.Floor, r.Ceiling)
	return time.Duration(l.TickTime(last+1).UnixMilli()-r.Now)*time.Millisecond - (k.cfg.Generator.Elapsed() - r.At)
}

// expired is called when ids should have stopped.
func (k *Keeper) expired() {
	o := &k.outage
	o.mu.Lock()
	defer o.mu.Unlock()
	switch err := k.cfg.Generator.Err(); {
	case err == nil: // extended meanwhile, or its clock is slow
		o.timer.Reset(k.left())
	case errors.Is(err, snowflake.ErrLeaseExpired) && o.since.IsZero():
		o.since = time.Now().Add(min(0, k.left())) // a process that stood still learns of it late
		k.cfg.Logger.Error("ids stopped: the lease has expired", "worker", o.lent.Worker, "namespace", k.cfg.Request.Namespace,
			"center", lease.Name(k.cfg.Center), "ceiling", time.UnixMilli(o.lent.Ceiling), "err", k.Status().Err)
	}
}

// end stops watching.
func (o *outage) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer != nil {
		o.timer.Stop()
	}
}
