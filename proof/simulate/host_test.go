package simulate

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"github.com/snowlease/snowlease/lease"
)

// A node is a host. Its fields are guarded by world.mu.
type node struct {
	w     *world
	index int
	clock *clock
	times int // of the processes that it starts: see Plan.times
	cut   int // how many faults keep it from the stores
	deaf  int // how many of the next replies it does not get
	cur   *process
	all   []*process
	again int // the boot that is awaited; earlier ones are void
}

func newNode(w *world, index int) *node {
	p := w.plan.Nodes[index]
	return &node{w: w, index: index, times: p.Times, clock: &clock{lanes: &w.lanes, rate: p.Rate, wall: p.Wall}}
}

func (n *node) lane(what int) int { return n.w.lane(n.index, what) }

// boot starts a process.
func (n *node) boot() {
	w := n.w
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return
	}
	n.again++
	w.procs++
	w.result.Processes++
	p := &process{w: w, node: n, id: w.procs, began: w.now(), thawed: make(chan struct{})}
	p.net = way{dice: p.dice(1), there: requestLane, back: replyLane}
	p.timers, p.chance = p.dice(2), p.dice(3)
	p.ctx, p.cancel = context.WithCancel(context.Background()) //nolint:gosec // world.end calls it
	n.cur, n.all = p, append(n.all, p)
	w.mu.Unlock()
	p.event(lifeLane, Event{What: "starts"})
	var err error
	if p.program, err = w.program(p); err != nil {
		w.fail(err)
		p.program = nobody{}
	}
	w.wg.Go(p.live)
}

// dice returns random numbers for one purpose of one process.
func (p *process) dice(use int) *rand.Rand {
	return rand.New(rand.NewPCG(p.w.plan.Dice, uint64(p.id)<<8|uint64(use)))
}

// bootAfter starts a process after d, unless another one starts before.
func (n *node) bootAfter(d time.Duration) {
	n.w.mu.Lock()
	n.again++
	mine := n.again
	n.w.mu.Unlock()
	n.w.wg.Go(func() {
		n.w.sleep(n.lane(lifeLane), d)
		n.w.mu.Lock()
		still := n.again == mine
		n.w.mu.Unlock()
		if still {
			n.boot()
		}
	})
}

// crash ends the running process as SIGKILL does. Calls that it has sent still arrive at a store
// across the network. Another one starts after again, unless that is 0.
func (n *node) crash(again time.Duration) {
	n.w.mu.Lock()
	p := n.cur
	if n.cur = nil; p != nil {
		p.dead = true
	}
	n.w.mu.Unlock()
	if p != nil && again > 0 {
		n.bootAfter(again)
	}
}

// stop ends the process as SIGTERM does. It notices when it is awake, and uses some ids first.
func (n *node) stop(ids int, again time.Duration) {
	n.w.mu.Lock()
	p := n.cur
	if p != nil {
		p.stopping, p.again = true, again
		p.burst += ids
	}
	starting := p != nil && !p.started
	n.w.mu.Unlock()
	if starting {
		p.cancel()
	}
}

func (n *node) freeze(f Fault) {
	w := n.w
	w.mu.Lock()
	p := n.cur
	if p == nil {
		w.mu.Unlock()
		return
	}
	p.frozen++
	w.result.Frozen++
	if f.Kind == Freeze && f.N == 1 {
		n.cur = nil
	}
	w.mu.Unlock()
	rate := 0
	if f.Kind == Suspend {
		rate = n.clock.set(0, 0)
	}
	if f.Kind == Freeze && f.N == 1 {
		n.bootAfter(time.Millisecond)
	}
	w.wg.Go(func() {
		w.sleep(faultLane, f.For)
		w.mu.Lock()
		still := p.frozen > 0
		w.mu.Unlock()
		if !still {
			return // healed
		}
		if rate > 0 {
			n.clock.set(rate, 0)
		}
		p.thaw(1)
	})
}

// burst makes the process want ids at once, and tells it whether it has been copied.
func (n *node) burst(ids int, copied bool) {
	n.w.mu.Lock()
	defer n.w.mu.Unlock()
	if p := n.cur; p != nil {
		p.burst += ids
		p.copied = p.copied || copied
	}
}

// heal ends the node's faults. wall is how far the center's clock is ahead.
func (n *node) heal(wall time.Duration) {
	w := n.w
	n.clock.set(100, 0)
	n.clock.mu.Lock()
	n.clock.wall = wall
	n.clock.mu.Unlock()
	w.mu.Lock()
	n.cut, n.deaf = 0, 0
	all, none := n.all, n.cur == nil
	w.mu.Unlock()
	for _, p := range all {
		p.thaw(math.MaxInt)
	}
	if none {
		n.bootAfter(time.Millisecond)
	}
}

// nobody is a program that could not be made.
type nobody struct{}

func (nobody) Start(context.Context) error { return lease.ErrSetup }
func (nobody) use()                        {}
func (nobody) Stop(context.Context) error  { return nil }
func (nobody) Holding() bool               { return false }
