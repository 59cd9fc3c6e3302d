package chaos

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"
)

// A fault is something that goes wrong. do returns when it is over. The end of the run
// may cut it short.
type fault struct {
	name string
	do   func(context.Context, *rand.Rand) error
}

// faults are the faults of processes. Some continue while others begin; wait waits for them.
func (c *crew) faults(wait *background) []fault {
	ttl := c.order.Request.TTL
	return []fault{
		{"processes killed", func(_ context.Context, random *rand.Rand) error {
			return onEach(c.choose(random, 3), c.replace)
		}},
		{"processes restarted in good order", func(_ context.Context, random *rand.Rand) error {
			for _, s := range c.choose(random, 4) {
				wait.begin(func() error {
					defer s.Unlock()
					return errors.Join(s.release(20*time.Second), c.fill(s))
				})
			}
			return nil
		}},
		{"processes stopped past three TTLs while they issue", func(ctx context.Context, random *rand.Rand) error {
			for _, s := range c.choose(random, 3) {
				d := 3*ttl + time.Duration(random.Int64N(int64(ttl)))
				wait.begin(func() error {
					defer s.Unlock()
					s.tell(hot)
					pause(ctx, 30*time.Millisecond)
					err := c.stall(ctx, s, d)
					pause(ctx, 200*time.Millisecond)
					s.tell(cool)
					return err
				})
			}
			return nil
		}},
		{"processes stopped for a moment", func(ctx context.Context, random *rand.Rand) error {
			for _, s := range c.choose(random, 12) {
				d := time.Duration(random.Int64N(int64(ttl)))
				wait.begin(func() error {
					defer s.Unlock()
					return c.stall(ctx, s, d)
				})
			}
			return nil
		}},
		{"processes cloned", func(_ context.Context, random *rand.Rand) error {
			// As for containers of one image, host name and pid are equal.
			some := c.choose(random, 2)
			for _, s := range some {
				s.holder = some[0].holder
			}
			return onEach(some, c.replace)
		}},
	}
}

// choose locks up to n seats that nobody else has locked.
func (c *crew) choose(random *rand.Rand, n int) (some []*seat) {
	n = 1 + random.IntN(n)
	for _, i := range random.Perm(len(c.seats)) {
		if s := &c.seats[i]; len(some) < n && s.TryLock() {
			some = append(some, s)
		}
	}
	return some
}

// replace kills the process on a locked seat, starts another, and unlocks the seat.
func (c *crew) replace(s *seat) error {
	defer s.Unlock()
	c.killed.Add(1)
	return errors.Join(s.kill(), c.fill(s))
}

// reboot kills all processes at once, calls meanwhile, and starts others.
func (c *crew) reboot(meanwhile func()) error {
	var seats []*seat
	for ; len(seats) < len(c.seats); time.Sleep(20 * time.Millisecond) { // wait for the seats that others hold
		for i := range c.seats {
			if c.seats[i].TryLock() {
				seats = append(seats, &c.seats[i])
			}
		}
	}
	err := onEach(seats, func(s *seat) error {
		s.meant.Store(true)
		return s.signal(syscall.SIGKILL)
	})
	err = errors.Join(err, onEach(seats, func(s *seat) error { return s.kill() }))
	meanwhile()
	return errors.Join(err, onEach(seats, c.replace))
}

// stall stops a process for some time.
func (c *crew) stall(ctx context.Context, s *seat, d time.Duration) error {
	c.stopped.Add(1)
	err := s.signal(syscall.SIGSTOP)
	pause(ctx, d)
	return errors.Join(err, s.signal(syscall.SIGCONT))
}

// A background runs functions while other things begin.
type background struct {
	sync.WaitGroup
	mu  sync.Mutex
	err error
}

func (b *background) begin(f func() error) {
	b.Go(func() {
		err := f()
		b.mu.Lock()
		defer b.mu.Unlock()
		b.err = errors.Join(b.err, err)
	})
}

// end waits for all of them and returns their errors.
func (b *background) end() error {
	b.Wait()
	return b.err
}

// An uproar plays faults one after the other, until it is time to end.
type uproar struct {
	once   []fault       // played once at first, in any order
	faults []fault       // then some of these at random
	rest   time.Duration // extra pause after each random fault, so that quarantines end
	salvo  []fault       // some of these follow each random fault without a pause
	many   int           // how many of the salvo
	make   func(context.Context, fault, *rand.Rand) error
}

func (u uproar) run(ctx context.Context, random *rand.Rand, over func() bool) error {
	play := func(f fault, rest time.Duration, many int) error {
		if err := u.make(ctx, f, random); err != nil {
			return err
		}
		for range many {
			pause(ctx, time.Duration(random.Int64N(int64(500*time.Millisecond))))
			if err := u.make(ctx, u.salvo[random.IntN(len(u.salvo))], random); err != nil {
				return err
			}
		}
		pause(ctx, rest+100*time.Millisecond+time.Duration(random.Int64N(int64(1400*time.Millisecond))))
		return context.Cause(ctx)
	}
	for _, i := range random.Perm(len(u.once)) {
		if err := play(u.once[i], 0, 0); err != nil {
			return err
		}
	}
	many := u.many
	if len(u.salvo) == 0 {
		many = 0
	}
	for !over() {
		if err := play(u.faults[random.IntN(len(u.faults))], u.rest, many); err != nil {
			return err
		}
	}
	return nil
}
