package keeper

import (
	"context"
	"fmt"
	"time"

	"github.com/snowlease/snowlease/lease"
)

// Reset borrows another worker id for a process that may have been copied with its memory, by a
// restored snapshot or a clone. The copies hold the same grant, so Reset abandons the grant
// without releasing it. Ids stop and resume with the new worker id. Reset waits like Start. If a
// Start or another Reset is in progress, Reset waits for it, and interrupts it when ctx ends.
//
// A copy must call Reset before it issues an id or calls Stop, because a Keeper cannot detect the
// copy. It must issue no id until Reset returns. A call that waits when Reset begins gets ids of
// the other worker id only; a call that runs while the process is copied may return the same id
// in both copies. The abandoned worker id becomes free when its lease expires.
//
// After an error, the Keeper keeps trying to borrow a worker id. It is an error to reset a Keeper
// that has not started or has stopped.
func (k *Keeper) Reset(ctx context.Context) error {
	k.mu.Lock()
	stops := k.stops
	k.resets++ // before Drop, so that no answer in progress restores the dropped range
	k.mu.Unlock()
	k.cfg.Generator.Drop()
	if !k.enter(ctx) { // returning now would leave the grant in use
		k.mu.Lock()
		k.hurry++
		if k.interrupt != nil {
			k.interrupt("reset")
		}
		k.mu.Unlock()
		k.life <- struct{}{}
		k.mu.Lock()
		k.hurry--
		k.mu.Unlock()
	}
	defer func() { <-k.life }()
	k.mu.Lock()
	state, cancel, ended, over := k.status.State, k.cancel, k.ended, k.stops != stops
	k.mu.Unlock()
	if over || state == Idle || state == Stopped {
		return fmt.Errorf("keeper of namespace %q is %v: there is nothing to reset", k.cfg.Request.Namespace, state)
	}
	ctx, done := k.untilStop(ctx, stops)
	defer done()
	cancel()
	<-ended // soon, because a Center returns when its context ends
	k.abandon()
	k.mu.Lock()
	k.status.State, k.status.Grant, k.status.Err, k.status.FailingSince = Borrowing, lease.Grant{}, nil, time.Time{}
	k.mu.Unlock()
	err := k.borrowAtStart(ctx)
	if err != nil {
		k.note(Borrowing, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stops == stops {
		k.begin(ctx)
	}
	return err
}

// abandon forgets the grant, which a copy of the process may use.
func (k *Keeper) abandon() {
	k.cfg.Logger.Warn("reset; worker id abandoned, not released", "worker", k.grant.Worker,
		"namespace", k.cfg.Request.Namespace, "token", k.grant.Token)
	k.grant = lease.Grant{}
}
