package simulate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/snowlease/snowlease/lease"
)

// A node is a host. Its fields are guarded by sim.mu.
type node struct {
	s     *sim
	index int
	clock *clock
	cut   int // who says that it does not reach the center
	deaf  int // replies to come that it does not get
	cur   *proc
	all   []*proc
	again int // which boot is awaited: an earlier one is no longer
}

func newNode(s *sim, index int) *node {
	p := s.plan.Nodes[index]
	return &node{s: s, index: index, clock: &clock{lanes: &s.lanes, rate: p.Rate, wall: p.Wall}}
}

func (n *node) lane(what int) int { return lane(n.index, what) }

// boot starts a process.
func (n *node) boot() {
	s := n.s
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	n.again++
	s.procs++
	s.result.Processes++
	p := &proc{
		s: s, node: n, id: s.procs, began: s.now(), thawed: make(chan struct{}),
		net: source(s.plan.Dice, s.procs, 1), timers: source(s.plan.Dice, s.procs, 2), use: source(s.plan.Dice, s.procs, 3),
	}
	p.ctx, p.cancel = context.WithCancel(context.Background()) //nolint:gosec // sim.end calls it
	n.cur, n.all = p, append(n.all, p)
	s.mu.Unlock()
	s.event(n.lane(lifeLane), Event{Process: p.id, What: "starts"})
	host := &Host{
		Request: s.request(s.plan.Nodes[n.index].TTL), Layout: s.plan.Layout, Ahead: s.plan.Ahead,
		Wait: s.plan.Wait, Exact: s.plan.Nodes[n.index].Exact, p: p,
	}
	center, err := s.subject.Center(s.store, host)
	if err == nil {
		host.Center = &wire{p, center}
		if s.subject.Holder != nil {
			host.Center = s.subject.Holder(host.Center)
		}
		p.impl, err = s.subject.Process(host)
	}
	if err != nil {
		s.fail(err)
		p.impl = nobody{}
	}
	s.wg.Go(p.live)
}

// source returns random numbers of their own for one use of one process.
func source(seed uint64, process, use int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, uint64(process)<<8|uint64(use)))
}

// bootAfter starts a process after d, unless another starts before.
func (n *node) bootAfter(d time.Duration) {
	n.s.mu.Lock()
	n.again++
	mine := n.again
	n.s.mu.Unlock()
	n.s.wg.Go(func() {
		n.s.sleep(n.lane(lifeLane), d)
		n.s.mu.Lock()
		still := n.again == mine
		n.s.mu.Unlock()
		if still {
			n.boot()
		}
	})
}

// crash ends the process that runs; another starts after a time that is not 0.
func (n *node) crash(again time.Duration) {
	n.s.mu.Lock()
	p := n.cur
	n.cur = nil
	n.s.mu.Unlock()
	if p == nil {
		return
	}
	p.die()
	if again > 0 {
		n.bootAfter(again)
	}
}

// reboot ends all processes, where they are those of one host.
func (s *sim) reboot(again time.Duration) {
	if _, one := s.store.(oneHost); !one {
		return
	}
	for _, n := range s.nodes {
		n.crash(max(1, again))
		s.mu.Lock()
		all := slices.Clone(n.all)
		s.mu.Unlock()
		for _, p := range all { // who stands still beside it too
			p.die()
		}
	}
}

// stop ends the process as SIGTERM does. It notices when it is awake, and uses some
// ids before.
func (n *node) stop(ids int, again time.Duration) {
	n.s.mu.Lock()
	p := n.cur
	if p != nil {
		p.stopping, p.again = true, again
		p.burst += ids
	}
	starting := p != nil && !p.started
	n.s.mu.Unlock()
	if starting {
		p.cancel()
	}
}

func (n *node) freeze(f Fault) {
	s := n.s
	s.mu.Lock()
	p := n.cur
	if p == nil {
		s.mu.Unlock()
		return
	}
	p.frozen++
	s.result.Frozen++
	if f.Kind == Freeze && f.N == 1 {
		n.cur = nil
	}
	s.mu.Unlock()
	rate := 0
	if f.Kind == Suspend {
		rate = n.clock.set(0, 0)
	}
	if f.Kind == Freeze && f.N == 1 {
		n.bootAfter(time.Millisecond)
	}
	s.wg.Go(func() {
		s.sleep(faultLane, f.For)
		s.mu.Lock()
		still := p.frozen > 0
		s.mu.Unlock()
		if !still {
			return // healed
		}
		if rate > 0 {
			n.clock.set(rate, 0)
		}
		p.thaw(1)
	})
}

func (n *node) burst(ids int) {
	n.s.mu.Lock()
	defer n.s.mu.Unlock()
	if n.cur != nil {
		n.cur.burst += ids
	}
}

// heal ends what is wrong with the node; wall is how far the center's clock is ahead.
func (n *node) heal(wall time.Duration) {
	s := n.s
	n.clock.set(100, 0)
	n.clock.setWall(wall)
	s.mu.Lock()
	n.cut, n.deaf = 0, 0
	all, none := n.all, n.cur == nil
	s.mu.Unlock()
	for _, p := range all {
		p.thaw(math.MaxInt)
	}
	if none {
		n.bootAfter(time.Millisecond)
	}
}

// settled: as many processes hold a worker id as can, and each has issued an id since
// then.
func (s *sim) settled(since time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	holding, want := 0, 0
	for _, n := range s.nodes {
		if n.cur == nil {
			want++ // about to start
		}
		for _, p := range n.all {
			if p.dead || p.gone {
				continue
			}
			want++
			if p.started && p.issued > since && p.impl.Holding() {
				holding++
			}
		}
	}
	lendable := int(s.plan.Pool)
	for _, slot := range s.ledger.slots {
		if slot.Damaged {
			lendable--
		}
	}
	return holding >= min(want, lendable)
}

// standing tells who holds what. The caller holds s.mu.
func (s *sim) standing() string {
	var b strings.Builder
	for _, n := range s.nodes {
		for _, p := range n.all {
			if !p.dead && !p.gone {
				fmt.Fprintf(&b, "process %d of node %d: started %v, holding %v, last id at %v, %v; ", p.id, n.index, p.started, p.impl.Holding(), p.issued, p.failure)
			}
		}
	}
	return b.String()
}

// nobody is a process that cannot be made.
type nobody struct{}

func (nobody) Start(context.Context) error          { return lease.ErrSetup }
func (nobody) Issue(context.Context, []int64) error { return lease.ErrSetup }
func (nobody) Stop(context.Context) error           { return nil }
func (nobody) Holding() bool                        { return false }
