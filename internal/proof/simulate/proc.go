package simulate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/snowlease/snowlease/lease"
)

// A proc is one process. Its fields are guarded by sim.mu, but for what never changes.
type proc struct {
	s      *sim
	node   *node
	id     int
	impl   Process
	ctx    context.Context //nolint:containedctx // of Start, which a stop ends
	cancel context.CancelFunc

	net, timers, use *rand.Rand // for messages, timers, ids

	atEnd func() // what the kernel does when the process ends; nil: nothing

	started, stopping, dead, gone bool
	again                         time.Duration // after a stop
	frozen                        int
	thawed                        chan struct{} // closed at the end of the freeze
	held                          []func()      // replies that came meanwhile
	grants                        []grant
	last                          int64         // id
	began, issued                 time.Duration // when
	without                       time.Duration // since when it has no ids; 0: it has
	burst                         int
	failure                       error
}

// A grant is one that the process got.
type grant struct {
	worker, floor, ceiling int64
	loan                   *loan
}

// live is the life of the process.
func (p *proc) live() {
	s := p.s
	err := p.impl.Start(p.ctx)
	s.mu.Lock()
	p.started, p.failure = err == nil, err
	stopping := p.stopping
	s.mu.Unlock()
	if err != nil {
		p.event(lifeLane, Event{What: "start failed", Note: kindOf(err)})
		if !stopping {
			s.mu.Lock()
			p.refused(err)
			p.again = 100*time.Millisecond + time.Duration(p.timers.Int64N(int64(200*time.Millisecond)))
			s.mu.Unlock()
		}
		p.leave()
		return
	}
	p.event(lifeLane, Event{What: "started"})
	if s.plan.Calm { // it is measured how long the first id takes
		p.issue()
	}
	for s.sleep(p.node.lane(issueLane), p.pause()); p.awake(); s.sleep(p.node.lane(issueLane), p.pause()) {
		p.issue()
	}
	p.issue() // its last, which may be a burst
	s.sleep(p.node.lane(lifeLane), 1)
	err = p.impl.Stop(context.Background())
	p.event(lifeLane, Event{What: "stopped", Note: kindOf(err)})
	p.leave()
}

// leave is the end of the process: another takes its place, if it was the one that ran.
func (p *proc) leave() {
	s := p.s
	p.quit()
	s.mu.Lock()
	p.gone = true
	again := time.Duration(0)
	if p.node.cur == p {
		p.node.cur, again = nil, p.again
	}
	s.mu.Unlock()
	if again > 0 {
		p.node.bootAfter(again)
	}
}

// die ends the process as SIGKILL does. Its calls that are under way arrive at a center
// beyond a network.
func (p *proc) die() {
	p.s.mu.Lock()
	p.dead = true
	p.s.mu.Unlock()
	p.quit()
}

func (p *proc) quit() {
	if p.atEnd == nil {
		return
	}
	p.s.enter()
	p.atEnd()
	p.s.leave()
}

// awake waits while the process stands still, and reports whether it goes on. One that
// is dead waits for the end of the run.
func (p *proc) awake() bool {
	for {
		p.s.mu.Lock()
		stopping, dead, frozen, thawed := p.stopping, p.dead, p.frozen > 0, p.thawed
		p.s.mu.Unlock()
		switch {
		case p.s.ended():
			return false
		case dead:
			<-p.s.over
		case frozen:
			select {
			case <-thawed:
			case <-p.s.over:
			}
		default:
			return !stopping
		}
	}
}

// pause is how long until the next use of ids.
func (p *proc) pause() time.Duration {
	mean := p.s.plan.Nodes[p.node.index].Issue
	if p.use.IntN(4) > 0 {
		return time.Duration(p.use.Int64N(int64(2 * mean)))
	}
	return time.Duration(p.use.Int64N(int64(2 * time.Millisecond))) // right after
}

// issue uses ids in one of the ways that programs do.
func (p *proc) issue() {
	p.s.mu.Lock()
	burst := p.burst
	p.burst = 0
	p.s.mu.Unlock()
	if burst == 0 && p.use.IntN(4) > 0 {
		p.want(context.Background(), make([]int64, 1+p.use.IntN(4)), 1)
		return
	}
	within := time.Duration(p.use.Int64N(int64(100*time.Millisecond))) + time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), p.s.after(p.node.lane(issueLane), within))
	defer cancel()
	ids := max(burst, 2+p.use.IntN(23))
	p.want(ctx, make([]int64, ids), ids)
}

// want asks for ids, so many by a call, and checks what comes.
func (p *proc) want(ctx context.Context, dst []int64, each int) {
	var err error
	n := 0
	for ; n < len(dst); n += each {
		if err = p.impl.Issue(ctx, dst[n:n+each]); err != nil {
			break
		}
	}
	dst = dst[:n]
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if n > 0 {
		if p.without > 0 {
			p.paused(p.without)
		}
		if p.issued == 0 {
			p.waited()
		}
		p.failure, p.issued, p.without = nil, s.now(), 0
		s.eventLocked(p.node.lane(issueLane), Event{Process: p.id, What: "issued", First: dst[0], Last: dst[n-1], N: n})
		s.result.IDs += n
		for _, id := range dst {
			p.check(id)
		}
	}
	if err != nil {
		if p.failure == nil || kindOf(p.failure) != kindOf(err) {
			s.eventLocked(p.node.lane(issueLane), Event{Process: p.id, What: "no id", Note: kindOf(err)})
		}
		p.failure = err
		if kind := kindOf(err); p.without == 0 && (kind == "expired" || kind == "not started") {
			p.without = s.now()
			p.paused(p.without)
		}
	}
}

// check holds an id against all that is known. The caller holds s.mu.
func (p *proc) check(id int64) {
	s := p.s
	if id <= p.last {
		s.broken(Falls, "process %d issued %d after %d", p.id, id, p.last)
	}
	p.last = max(p.last, id)
	if other, twice := s.ledger.ids[id]; twice {
		s.broken(Duplicate, "%d was issued by the processes %d and %d", id, other, p.id)
	}
	s.ledger.ids[id] = int32(p.id)

	// The bits are taken apart here, not by the package that put them together.
	l := s.plan.Layout
	worker := id >> (l.BusinessBits + l.SequenceBits) & (1<<l.WorkerBits - 1)
	unit := int64(l.TimeUnit / time.Millisecond)
	begin := l.Epoch + id>>(l.WorkerBits+l.BusinessBits+l.SequenceBits)*unit
	end := begin + unit - 1
	for i := len(p.grants) - 1; i >= 0; i-- {
		if g := &p.grants[i]; g.worker == worker && g.floor < begin && end <= g.ceiling {
			if g.loan != nil {
				g.loan.used = max(g.loan.used, end)
			}
			return
		}
	}
	var had []string
	for _, g := range p.grants {
		had = append(had, fmt.Sprintf("worker %d (%d, %d]", g.worker, g.floor, g.ceiling))
	}
	s.broken(Outside, "process %d issued %d, which is of worker %d and %d..%d ms, while it had %v", p.id, id, worker, begin, end, had)
}

// got notes a grant that reached the process. The caller holds s.mu.
func (p *proc) got(g lease.Grant) {
	for i := range p.grants {
		if had := &p.grants[i]; had.worker == g.Worker && had.floor == g.Floor {
			had.ceiling = max(had.ceiling, g.Ceiling)
			return
		}
	}
	p.grants = append(p.grants, grant{g.Worker, g.Floor, g.Ceiling, p.s.ledger.loan(g)})
}

// gave notes that the process gives a grant back: it may issue nothing more of it. The
// caller holds s.mu.
func (p *proc) gave(g lease.Grant) {
	for i := range p.grants {
		if had := &p.grants[i]; had.worker == g.Worker && had.floor == g.Floor {
			had.ceiling = had.floor
		}
	}
}

// thaw lets a process that stood still go on. Its ids come first, then what its
// keeper was told meanwhile.
func (p *proc) thaw(freezes int) {
	s := p.s
	s.mu.Lock()
	if p.frozen == 0 {
		s.mu.Unlock()
		return
	}
	p.frozen = max(0, p.frozen-freezes)
	if p.frozen > 0 {
		s.mu.Unlock()
		return
	}
	held := p.held
	p.held = nil
	close(p.thawed)
	p.thawed = make(chan struct{})
	s.eventLocked(faultLane, Event{What: "thaw", Process: p.id})
	var delays []time.Duration
	for range held {
		delays = append(delays, s.after(p.node.lane(keeperLane), p.random(5*time.Millisecond)))
	}
	s.mu.Unlock()
	for i, deliver := range held {
		s.wg.Go(func() {
			time.Sleep(delays[i])
			deliver()
		})
	}
}

// random returns up to d. The caller holds s.mu.
func (p *proc) random(d time.Duration) time.Duration {
	return time.Duration(p.net.Int64N(int64(max(d, 1))))
}

// elapsed is the monotonic clock.
func (p *proc) elapsed() time.Duration {
	now := p.node.clock.mono()
	p.s.mu.Lock()
	frozen := p.frozen > 0 && !p.s.closed
	p.s.mu.Unlock()
	if !frozen {
		return now
	}
	p.awake()
	if p.use.IntN(2) == 0 {
		return now // it had read the clock before
	}
	return p.node.clock.mono()
}

// jitter is how long a timer of the host takes.
func (p *proc) jitter(d time.Duration) time.Duration {
	p.s.mu.Lock()
	d -= time.Duration(p.timers.Int64N(int64(d)/10 + 1))
	p.s.mu.Unlock()
	return p.s.after(p.node.lane(keeperLane), p.node.clock.stretch(d))
}

func (p *proc) event(what int, e Event) {
	e.Process = p.id
	p.s.event(p.node.lane(what), e)
}

// kindOf names an error without what differs from run to run, such as owners.
func kindOf(err error) string {
	var (
		full       *lease.NoFreeWorkerError
		quarantine *lease.QuarantineError
		mismatch   *lease.MismatchError
		clock      *lease.ClockError
	)
	switch {
	case err == nil:
		return ""
	case errors.Is(err, lease.ErrLost):
		return "lost"
	case errors.As(err, &full):
		return "full"
	case errors.As(err, &quarantine):
		return "quarantine"
	case errors.As(err, &mismatch):
		return "mismatch"
	case errors.As(err, &clock):
		return "clock"
	}
	for _, known := range known {
		if errors.Is(err, known.err) {
			return known.name
		}
	}
	return "other: " + err.Error()
}
