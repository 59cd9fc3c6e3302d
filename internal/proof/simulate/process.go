package simulate

import (
	"context"
	"math/rand/v2"
	"time"
)

// A process is one. Its fields are guarded by world.mu, but for what never changes.
type process struct {
	program
	w      *world
	node   *node
	id     int
	ctx    context.Context //nolint:containedctx // of Start, which a stop ends
	cancel context.CancelFunc

	net            way
	timers, chance *rand.Rand // for timers, for what is wanted when

	atEnd func() // what the kernel does when the process ends; nil: nothing

	started, stopping, dead, gone bool
	again                         time.Duration // after a stop
	frozen                        int
	thawed                        chan struct{} // closed at the end of the freeze
	held                          []func()      // replies that came meanwhile
	burst                         int           // ids wanted at once
	copied                        bool
	lastID                        int64
	began, lastIssue              time.Duration // when
	failure                       error
}

// live is the life of the process.
func (p *process) live() {
	w := p.w
	err := p.Start(p.ctx)
	w.mu.Lock()
	p.started, p.failure = err == nil, err
	stopping := p.stopping
	w.mu.Unlock()
	if err != nil {
		p.event(lifeLane, Event{What: "start failed", Note: kindOf(err)})
		if !stopping {
			w.mu.Lock()
			p.again = 100*time.Millisecond + time.Duration(p.timers.Int64N(int64(200*time.Millisecond)))
			w.mu.Unlock()
		}
		p.leave()
		return
	}
	p.event(lifeLane, Event{What: "started"})
	if w.plan.Calm { // it is measured how long the first id takes
		p.use()
	}
	for w.sleep(p.node.lane(useLane), p.pause()); p.awake(); w.sleep(p.node.lane(useLane), p.pause()) {
		p.use()
	}
	p.use() // its last, which may be a burst
	w.sleep(p.node.lane(lifeLane), 1)
	err = p.Stop(context.Background())
	p.event(lifeLane, Event{What: "stopped", Note: kindOf(err)})
	p.leave()
}

// leave is the end of the process: another takes its place, if it was the one that ran.
func (p *process) leave() {
	w := p.w
	p.quit()
	w.mu.Lock()
	p.gone = true
	again := time.Duration(0)
	if p.node.cur == p {
		p.node.cur, again = nil, p.again
	}
	w.mu.Unlock()
	if again > 0 {
		p.node.bootAfter(again)
	}
}

// die ends the process as SIGKILL does. Its calls that are under way arrive at a store
// beyond a network.
func (p *process) die() {
	p.w.mu.Lock()
	p.dead = true
	p.w.mu.Unlock()
	p.quit()
}

func (p *process) quit() {
	if p.atEnd == nil {
		return
	}
	p.w.enter()
	p.atEnd()
	p.w.leave()
}

// awake waits while the process stands still, and reports whether it goes on. One that
// is dead waits for the end of the run.
func (p *process) awake() bool {
	for {
		over, thawed := p.stands()
		switch {
		case over:
			return false
		case thawed == nil:
			p.w.mu.Lock()
			defer p.w.mu.Unlock()
			return !p.stopping
		}
		select {
		case <-thawed:
		case <-p.w.over:
		}
	}
}

// stands reports whether the run is over, which a dead process waits for, and returns
// what ends the freeze of one that stands still.
func (p *process) stands() (over bool, thawed chan struct{}) {
	p.w.mu.Lock()
	dead, frozen, thawed := p.dead, p.frozen > 0, p.thawed
	p.w.mu.Unlock()
	if dead {
		<-p.w.over
	}
	if !frozen {
		thawed = nil
	}
	return p.w.ended(), thawed
}

// pause is how long until the next use of ids.
func (p *process) pause() time.Duration {
	mean := p.w.plan.Nodes[p.node.index].Issue
	if p.chance.IntN(4) > 0 {
		return time.Duration(p.chance.Int64N(int64(2 * mean)))
	}
	return time.Duration(p.chance.Int64N(int64(2 * time.Millisecond))) // right after
}

// wanted returns what a fault makes the process want at once, and whether it was copied.
func (p *process) wanted() (burst int, copied bool) {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	burst, copied = p.burst, p.copied
	p.burst, p.copied = 0, false
	return burst, copied
}

// issued notes ids that the process has got: none twice, and where they rise, each
// greater than those before. The caller holds world.mu.
func (p *process) issued(ids []int64, rise bool) {
	w := p.w
	p.failure, p.lastIssue = nil, w.now()
	p.eventLocked(useLane, Event{What: "issued", First: ids[0], Last: ids[len(ids)-1], N: len(ids)})
	w.result.IDs += len(ids)
	for _, id := range ids {
		if rise && id <= p.lastID {
			w.broken(Falls, "process %d issued %d after %d", p.id, id, p.lastID)
		}
		p.lastID = max(p.lastID, id)
		if other, twice := w.issued[id]; twice {
			w.broken(Duplicate, "%d was issued by the processes %d and %d", id, other, p.id)
		}
		w.issued[id] = int32(p.id)
	}
}

// refused notes that the process got no ids. The caller holds world.mu.
func (p *process) refused(err error) {
	p.w.result.Refused++
	if p.failure == nil || kindOf(p.failure) != kindOf(err) {
		p.eventLocked(useLane, Event{What: "no id", Note: kindOf(err)})
	}
	p.failure = err
}

// thaw lets a process that stood still go on. Its ids come first, then what it was
// told meanwhile.
func (p *process) thaw(freezes int) {
	w := p.w
	w.mu.Lock()
	if p.frozen == 0 {
		w.mu.Unlock()
		return
	}
	p.frozen = max(0, p.frozen-freezes)
	if p.frozen > 0 {
		w.mu.Unlock()
		return
	}
	held := p.held
	p.held = nil
	close(p.thawed)
	p.thawed = make(chan struct{})
	w.eventLocked(faultLane, Event{Node: p.node.index, Process: p.id, What: "thaw"})
	var delays []time.Duration
	for range held {
		delays = append(delays, p.travel(replyLane, p.net.random(5*time.Millisecond)))
	}
	w.mu.Unlock()
	for i, deliver := range held {
		w.wg.Go(func() {
			time.Sleep(delays[i])
			deliver()
		})
	}
}

// elapsed is the monotonic clock.
func (p *process) elapsed() time.Duration {
	now := p.node.clock.mono()
	p.w.mu.Lock()
	frozen := p.frozen > 0 && !p.w.closed
	p.w.mu.Unlock()
	if !frozen {
		return now
	}
	p.awake()
	if p.chance.IntN(2) == 0 {
		return now // it had read the clock before
	}
	return p.node.clock.mono()
}

// jitter is how long a timer of the host takes.
func (p *process) jitter(d time.Duration) time.Duration {
	p.w.mu.Lock()
	d -= time.Duration(p.timers.Int64N(int64(d)/10 + 1))
	p.w.mu.Unlock()
	return p.w.after(p.node.lane(replyLane), p.node.clock.stretch(d))
}

func (p *process) event(what int, e Event) {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	p.eventLocked(what, e)
}

func (p *process) eventLocked(what int, e Event) {
	e.Node, e.Process = p.node.index, p.id
	p.w.eventLocked(p.node.lane(what), e)
}
