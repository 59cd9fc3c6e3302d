package keeper

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/snowlease/snowlease/internal/bounded"
	"github.com/snowlease/snowlease/lease"
)

// A pace lets a slow or unreachable store recover, however many processes use it.
//
// An abandoned call still costs the store. So after each failure the next call gets 1.5 times as
// long, up to a third of TTL or 10 s, whichever is longer. A store that can renew n leases every
// third of TTL answers n calls in that time, even simultaneous ones. If it does not, n Keepers
// that retry still send fewer calls than n that renew. The first calls get less time, because the
// connection may be dead while the lease runs. Until the lease ends, a renewal gets at most a
// third of TTL.
//
// Each failure doubles the pause. It is random, so that Keepers do not stay in step.
type pace struct {
	patience, maxPatience time.Duration // how long a call may take
	pause, maxPause       time.Duration // after a failure; 0 after a success
}

const (
	callTimeout = 2 * time.Second
	firstPause  = time.Second
)

func (p *pace) failure() {
	p.patience = min(p.patience*3/2, p.maxPatience)
	p.pause = min(max(2*p.pause, firstPause), p.maxPause)
}

// success lowers patience by one step only, because a store that has just answered may still be
// slow.
func (p *pace) success() {
	p.patience = max(p.patience*2/3, callTimeout)
	p.pause = 0
}

// retry returns a delay that is short compared with TTL.
func (k *Keeper) retry() time.Duration { return min(time.Second, k.cfg.Request.TTL/10) }

// pause returns the shortest and the longest pause after an error. After a quarantine error, the
// pause lasts until the end of the quarantine plus a spread between replicas. A Keeper that may
// borrow ahead of the clock calls more often: the center detects another loss, and begins its
// quarantine, only during a call.
func (k *Keeper) pause(err error) (least, most time.Duration) {
	if q := (*lease.QuarantineError)(nil); errors.As(err, &q) {
		longest := maxPause
		if k.cfg.Request.MaxLead > 0 {
			longest = time.Second / 2
		}
		d := max(10*time.Millisecond, min(q.Wait(), longest))
		return d, d + k.retry()/10
	}
	d := k.pace.pause
	if full := (*lease.NoFreeWorkerError)(nil); errors.As(err, &full) {
		d = max(d, min(full.Wait(), maxPause))
	}
	return d / 2, d
}

// often is the interval of renewals without a Schedule, so that nearly all of a long lease is
// left when an outage begins.
const often = 10 * time.Second

// untilRenewal returns how long to wait after a success, unless the generator needs more sooner.
// A range that begins ahead of the clock is short at first and grows with each renewal until the
// clock catches up. If the clock stepped back, the range grows again when the clock has caught
// up.
func (k *Keeper) untilRenewal() time.Duration {
	g := k.grant
	left := time.Duration(g.Ceiling-max(g.Floor, g.Now)) * time.Millisecond
	d := min(g.TTL/3, max(left/2, k.retry()/10))
	if grows := time.Duration(k.lent.Grows-g.Now) * time.Millisecond; grows > 0 {
		d = min(d, max(grows, k.retry()/10))
	}
	if s := k.cfg.Schedule; s != nil {
		// The schedule follows the wall clock, which may step. It never delays a
		// renewal that the lease needs.
		from := time.Now().Add(k.early)
		if next := s.Next(from); next.After(from) && next.Sub(from) <= d {
			return next.Sub(from) // no jitter, so that each time of Schedule causes one renewal
		}
	} else {
		d = min(d, often)
	}
	return k.jitter(mostly(d))
}

// onDemand is the shortest time between two renewals that callers of the generator cause.
const onDemand = 250 * time.Millisecond

// rest reports whether d passed before ctx ended. Once wanted is closed, it waits only until onDemand
// has passed since the last call began, or twice as long as that call took if that is more.
func (k *Keeper) rest(ctx context.Context, d time.Duration, wanted <-chan struct{}) bool {
	select {
	case <-time.After(d):
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	case <-wanted:
	}
	return bounded.Sleep(ctx, min(d, max(onDemand, 2*k.took))-time.Since(k.began)) == nil
}

// jitter returns a delay of least to most. It is never 0, which would mean no pause.
func (k *Keeper) jitter(least, most time.Duration) time.Duration {
	return max(1, k.cfg.Jitter(least, most))
}

// mostly returns 90% of d, and d.
func mostly(d time.Duration) (least, most time.Duration) { return d - d/10, d }

func between(least, most time.Duration) time.Duration { return least + rand.N(most-least+1) }
