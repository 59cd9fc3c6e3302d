package keeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowlease/snowlease/internal/bounded"
	"github.com/snowlease/snowlease/lease"
)

// Stop ends renewing, then ends issuing, then releases the worker id. It takes at most 5 s, even
// if ctx has ended, and interrupts a Start or Reset in progress. An error means that the worker
// id was not released; it becomes free when its lease expires. A second Stop does nothing.
func (k *Keeper) Stop(ctx context.Context) error {
	k.mu.Lock()
	k.stops++
	if k.interrupt != nil {
		k.interrupt("stopped")
	}
	k.mu.Unlock()
	// A Start or Reset that holds life soon ends. If it still releases its grant, nothing is left
	// to release.
	k.life <- struct{}{}
	defer func() { <-k.life }()
	k.mu.Lock()
	state, cancel, ended := k.status.State, k.cancel, k.ended
	k.status.State = Stopped
	k.mu.Unlock()
	if state == Stopped {
		return nil
	}
	if cancel != nil {
		cancel()
		<-ended // soon, because a Center returns when its context ends, or in mode local when the disk answers
	}
	k.began = time.Now()
	err := k.giveBack(ctx)
	k.note(Stopped, err)
	return err
}

func (k *Keeper) giveBack(ctx context.Context) error {
	lastUsed := k.cfg.Generator.Stop()
	g := k.grant
	k.outage.end()
	switch {
	case g == (lease.Grant{}):
		k.forsake(context.WithoutCancel(ctx))
		return nil
	case k.copied():
		k.abandon()
		return nil
	}
	k.grant = lease.Grant{}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	err := k.release(call, g, lastUsed)
	if err != nil {
		err = fmt.Errorf("release worker id %d of namespace %q%s: %w", g.Worker, g.Namespace, k.named(" at ", err), err)
		k.cfg.Logger.Warn("worker id not released; free when its lease expires", "worker", g.Worker,
			"namespace", g.Namespace, "expires", time.UnixMilli(g.Ceiling), "err", err)
		return err
	}
	k.cfg.Logger.Info("worker id released", "worker", g.Worker, "namespace", g.Namespace, "center", lease.Name(k.cfg.Center))
	return nil
}

// release retries until ctx ends, except after errors that retries do not cure.
func (k *Keeper) release(ctx context.Context, g lease.Grant, lastUsed int64) error {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, releaseTimeout/5) {
		err := k.cfg.Center.Release(ctx, g, lastUsed)
		if err == nil || errors.Is(err, lease.ErrLost) {
			return nil
		}
		if errors.Is(err, lease.ErrSetup) || errors.As(err, new(*lease.MismatchError)) || bounded.Sleep(ctx, k.jitter(pause/2, pause)) != nil {
			return err
		}
	}
}
