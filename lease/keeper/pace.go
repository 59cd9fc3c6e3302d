package keeper

import "time"

// A pace makes a store that is slow or away recover, however many processes use it.
//
// A call that is given up is lost work: the store carries it out all the same. So after
// each failure the next call gets half as much time again, up to a third of TTL, or 10 s if
// that is more. A store that can renew n leases every third of TTL answers n calls in that
// time, even if all come at once. If it does not, n Keepers that give up and try again still
// ask it less often than n that renew. The first calls get less, because the connection may
// be dead and the lease runs; while it does, a renewal gets no more than a third of TTL.
//
// Each failure doubles the pause. It is random, so that Keepers in step do not stay so.
type pace struct {
	patience, maxPatience time.Duration // how long a call may take
	pause, maxPause       time.Duration // after a failure; 0 after a success
}

const (
	callTimeout = 2 * time.Second
	firstPause  = time.Second
)

func newPace(ttl time.Duration) pace {
	return pace{patience: callTimeout, maxPatience: max(DefaultWait, ttl/3), maxPause: min(maxPause, ttl/12)}
}

func (p *pace) failure() {
	p.patience = min(p.patience*3/2, p.maxPatience)
	p.pause = min(max(2*p.pause, firstPause), p.maxPause)
}

// success takes back one step of patience only, because a store that has just answered
// may still be slow.
func (p *pace) success() {
	p.patience = max(p.patience*2/3, callTimeout)
	p.pause = 0
}
