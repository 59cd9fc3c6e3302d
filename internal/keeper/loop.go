package keeper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/snowlease/snowlease/internal/bounded"
	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/lease"
)

func (k *Keeper) run(ctx context.Context) {
	defer close(k.ended)
	for pause := time.Duration(0); ; {
		if k.grant == (lease.Grant{}) {
			if bounded.Sleep(ctx, pause) != nil {
				return
			}
			final, err := k.borrow(ctx, k.pace.patience)
			if err == nil {
				pause = 0
				continue
			}
			k.failed(ctx, "worker id not borrowed; retrying", err)
			k.expired() // a burst may have used up the range
			if pause = k.jitter(k.pause(err)); final {
				pause = k.jitter(maxPause/2, maxPause)
			}
			continue
		}
		var wanted <-chan struct{} // stays nil after a failure
		if pause == 0 {
			pause, wanted = k.untilRenewal(), k.cfg.Generator.Wanted()
		}
		if !k.rest(ctx, pause, wanted) {
			return
		}
		pause = k.renew(ctx)
	}
}

// renew makes one attempt and returns how long to wait before the next. It returns 0
// after a success or a loss.
func (k *Keeper) renew(ctx context.Context) time.Duration {
	patience := k.pace.patience
	if k.left(k.lent) > 0 { // once ids have stopped, there is no need to hurry
		patience = min(patience, k.grant.TTL/3)
	}
	k.began = time.Now()
	call, cancel := context.WithTimeout(ctx, patience)
	g, err := k.cfg.Center.Renew(call, k.asking())
	at := k.cfg.Generator.Elapsed()
	cancel()
	k.took = time.Since(k.began)
	switch {
	case err == nil:
		g.TTL, g.MaxTTL = k.grant.TTL, k.grant.MaxTTL
		g = k.covered(g, at)
		next := rangeOf(g, at)
		if err := k.install(next); err != nil {
			k.pace.failure()
			k.failed(ctx, "renewal not installed", err)
			return k.jitter(k.pause(err))
		}
		k.pace.success()
		if g.Floor != k.grant.Floor {
			k.cfg.Logger.Warn("the center may have lost grants; ids continue above them", "worker", g.Worker, "namespace", g.Namespace,
				"token", g.Token, "ahead", time.Duration(g.Floor-g.Now)*time.Millisecond)
		}
		k.grant, k.lent = g, next
		_, before := k.granted(g, at)
		level := slog.LevelDebug
		if before != nil {
			level = slog.LevelInfo
		}
		k.cfg.Logger.Log(ctx, level, "lease renewed", "worker", g.Worker, "namespace", g.Namespace, "ceiling", time.UnixMilli(g.Ceiling))
		k.watch(ctx, next)
		return 0
	case errors.Is(err, lease.ErrLost), uncovered(err):
		if uncovered(err) {
			k.cfg.Generator.Drop()
		}
		k.note(Borrowing, err)
		k.cfg.Logger.Warn("lease lost; borrowing another worker id", append(k.prospect(ctx), "token", k.grant.Token, "err", err)...)
		k.grant = lease.Grant{}
		if k.cfg.OnLost != nil {
			k.cfg.OnLost(err)
		}
		return 0
	}
	k.count(err)
	k.failed(ctx, "lease not renewed; retrying", err)
	k.expired() // as above
	return k.jitter(k.pause(err))
}

// uncovered reports whether err means that the namespace was pinned again after a total loss, by
// a member whose quarantine need not cover this member's range. A pin without MaxTTL is retired
// or unreadable, and no member borrows under it.
func uncovered(err error) bool {
	var m *lease.MismatchError
	return errors.As(err, &m) && m.Stored.MaxTTL > 0 && m.Stored.Hold() < m.Asked.Hold()
}

func (k *Keeper) install(next generator.Range) error {
	if next.Floor != k.lent.Floor {
		return k.adopt(next)
	}
	if !k.cfg.Generator.Extend(k.lent, next) {
		// A Reset dropped the range during the renewal.
		return fmt.Errorf("lease: renewed range %+v does not follow %+v", next, k.lent)
	}
	return nil
}
