package chaos

import (
	"context"
	"regexp"
	"slices"
	"time"

	"github.com/snowlease/snowlease/lease"
)

// times are what the request of a process may have.
type times struct{ ttl, maxTTL, skew time.Duration }

func (t times) of(r lease.Request) lease.Request {
	r.TTL, r.MaxTTL, r.Skew = t.ttl, t.maxTTL, t.skew
	return r
}

// spread are the times from which each process draws its own, the least first. No clock is behind by
// more than the least skew at a loss.
var spread = []times{
	{ttl, ttl, skew},
	{ttl, ttl + time.Second, skew + 100*time.Millisecond},
	{2 * ttl, 2 * ttl, skew + 200*time.Millisecond},
}

// whole matches the faults that processes survive if all have the same times: no record is left that
// tells how far ahead others were lent, or those that are left are older than a raise may be.
var whole = regexp.MustCompile(`FLUSHALL|evicted|without its data|failed back|all records`)

// shortLag is how much a replica may lack while processes have different times. With what it takes to
// kill the primary, it is less than the least MaxTTL and skew together.
const shortLag = 1500 * time.Millisecond

// draw gives a seat times for its next process.
func (c *crew) draw(s *seat) times {
	c.mu.Lock()
	defer c.mu.Unlock()
	was, is := s.times, c.times[c.random.IntN(len(c.times))]
	switch s.times = is; {
	case s.process == nil:
	case is.maxTTL > was.maxTTL:
		c.raised.Add(1)
	case is.maxTTL < was.maxTTL:
		c.lowered.Add(1)
	}
	return is
}

// differ reports whether processes may have different times, and returns the least.
func (c *crew) differ() (least times, differ bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.times[0], len(c.times) > 1
}

// align gives all processes the greatest times.
func (c *crew) align(ctx context.Context) error {
	c.mu.Lock()
	c.times = c.times[len(c.times)-1:]
	c.mu.Unlock()
	for i := range c.seats {
		s := &c.seats[i]
		if s.Lock(); s.times == spread[len(spread)-1] {
			s.Unlock()
			continue
		}
		if err := c.replace(s); err != nil {
			return err
		}
	}
	pause(ctx, time.Second) // what the others asked for may still be on its way
	return nil
}

// settled reports whether the pin on record is that of the greatest times.
func (a *arena) settled(ctx context.Context) bool {
	var r lease.Record
	err := a.ask(func(c lease.Center) (err error) {
		r, err = c.Extras().Operator.Record(ctx, namespace)
		return err
	})
	return err == nil && r.Pin == spread[len(spread)-1].of(request()).Pin()
}

// lag returns for how long a replica lacks what its primary has, up to most.
func (a *arena) lag(most time.Duration, fraction float64) time.Duration {
	if _, differ := a.crew.differ(); differ {
		most = shortLag
	}
	return time.Duration(fraction * float64(most))
}

// lose is called before records are deleted, and returns which may be. While times differ, one of tell
// stays: former losses are noticed first if all would be gone together with them.
func (a *arena) lose(ctx context.Context, some ...string) ([]string, error) {
	a.clock.ready(ctx)
	a.parts++
	if _, differ := a.crew.differ(); !differ {
		return some, nil
	}
	all := func(lost []string) bool {
		return !slices.ContainsFunc(a.tell, func(r string) bool { return !slices.Contains(lost, r) })
	}
	for all(some) {
		some = some[1:]
	}
	if all(slices.Concat(a.lost, some)) {
		if err := a.noticed(ctx); err != nil {
			return nil, err
		}
		a.lost = nil
	}
	a.lost = append(a.lost, some...)
	return some, nil
}
