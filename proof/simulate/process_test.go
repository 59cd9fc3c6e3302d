package simulate

import (
	"context"
	"math/rand/v2"
	"time"
)

// A process runs a program on a node. world.mu guards its fields, except those that
// never change.
type process struct {
	program
	w      *world
	node   *node
	id     int
	ctx    context.Context // of Start; a stop cancels it
	cancel context.CancelFunc

	net            way
	timers, chance *rand.Rand // for timers; for the time and amount of demand

	started, stopping, dead, gone bool
	again                         time.Duration // after a stop
	frozen                        int
	thawed                        chan struct{} // closed when the freeze ends
	held                          []func()      // what came during the freeze: replies, and calls that go on
	burst                         int           // ids wanted at once
	copied                        bool
	lastID                        int64
	began, lastIssue              time.Duration // in the run
	failure                       error
}

// live runs the process from start to end.
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
	if w.plan.Calm { // measures how long the first id takes
		p.use()
	}
	for w.sleep(p.node.lane(useLane), p.pause()); p.awake(); w.sleep(p.node.lane(useLane), p.pause()) {
		p.use()
	}
	p.use() // its last use, which may be a burst
	w.sleep(p.node.lane(lifeLane), 1)
	err = p.Stop(context.Background())
	p.event(lifeLane, Event{What: "stopped", Note: kindOf(err)})
	p.leave()
}

// leave ends the process. Another one replaces it if it was the current one.
func (p *process) leave() {
	w := p.w
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

// awake waits while the process is frozen, and reports whether it continues. A dead
// process waits for the end of the run.
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

// stands reports whether the run is over, which a dead process waits for. For a frozen
// process it returns the channel that ends the freeze.
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

// pause returns the time until the next use of ids.
func (p *process) pause() time.Duration {
	mean := p.w.plan.Nodes[p.node.index].Issue
	if p.chance.IntN(4) > 0 {
		return time.Duration(p.chance.Int64N(int64(2 * mean)))
	}
	return time.Duration(p.chance.Int64N(int64(2 * time.Millisecond))) // immediately
}

// wanted returns the ids that a fault makes the process want at once, and whether it
// was copied.
func (p *process) wanted() (burst int, copied bool) {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	burst, copied = p.burst, p.copied
	p.burst, p.copied = 0, false
	return burst, copied
}

// issued notes the ids that the process got. It checks that none is a duplicate, and that
// each is greater than all before. The caller holds world.mu.
func (p *process) issued(ids []int64) {
	w := p.w
	p.failure, p.lastIssue = nil, w.now()
	p.eventLocked(useLane, Event{What: "issued", First: ids[0], Last: ids[len(ids)-1], N: len(ids)})
	w.result.IDs += len(ids)
	for _, id := range ids {
		if id <= p.lastID {
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

// thaw ends a freeze. The process first uses ids, then receives the replies that came
// meanwhile, and its calls go on.
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

// elapsed returns the host's monotonic clock. The process may freeze in this call, and get the
// time before or after the freeze.
func (p *process) elapsed() time.Duration {
	now := p.node.clock.mono()
	p.w.mu.Lock()
	frozen := p.frozen > 0 && !p.w.closed
	p.w.mu.Unlock()
	if !frozen {
		return now
	}
	p.awake()
	// The goroutines that wait here go on at instants that depend on when they came, not on
	// which of them wakes first.
	dice := rand.New(rand.NewPCG(p.w.plan.Dice^uint64(now), uint64(p.id)<<8|4))
	p.w.sleep(p.node.lane(lifeLane), time.Duration(dice.Int64N(int64(time.Millisecond))))
	if dice.IntN(2) == 0 {
		return now // the clock was read before the freeze
	}
	return p.node.clock.mono()
}

// jitter returns how long a timer of the host takes.
func (p *process) jitter(least, most time.Duration) time.Duration {
	p.w.mu.Lock()
	d := least + time.Duration(p.timers.Int64N(int64(most-least)+1))
	p.w.mu.Unlock()
	return p.w.after(p.node.lane(replyLane), p.node.clock.stretch(d))
}

// waits waits in a lane until a moment of the run, unless ctx ends before.
func (p *process) waits(ctx context.Context, lane int, until time.Duration) error {
	wait := until - p.w.now()
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(p.w.after(p.node.lane(lane), wait))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
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
