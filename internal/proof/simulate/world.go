package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"          //nolint:depguard // this package serves tests only
	"testing/synctest" //nolint:depguard // this package serves tests only
	"time"
)

// A Subject is what a run puts to the test: WorkerIDs or Numbers.
type Subject interface {
	// open makes the stores of a world and the subject's part of it.
	open(*world) (subject, error)
}

// A subject is what differs between worlds: what processes ask for, and what is known of
// what they may get. It keeps its books under world.mu.
type subject interface {
	// program makes what runs in a process.
	program(*process) (program, error)
	// follow adds actions that come with a plan's faults.
	follow(at func(time.Duration, func()))
	// look reads the records of the store, at which the caller is. compare: nothing but the
	// product has changed them.
	look(compare bool)
	// lost is called after each loss of records, healed when the last fault has ended.
	lost()
	healed()
	// room is how many processes can have ids at a time. The caller holds world.mu.
	room() int
}

// A program asks for ids in the ways that services do, and checks what it gets.
type program interface {
	Start(ctx context.Context) error
	use()
	Stop(ctx context.Context) error
	// Holding reports whether it can make ids.
	Holding() bool
}

// Run plays a plan with the subject, in a bubble of virtual time, and returns what
// came of it. It does not fail t.
func Run(t *testing.T, plan Plan, subject Subject) (result Result) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		w := &world{
			lanes: lanes{start: time.Now(), used: map[int64]struct{}{}, perNode: workerLanes},
			plan:  plan, gate: make(chan struct{}, 1), over: make(chan struct{}),
			issued: map[int64]int32{}, kept: map[time.Duration]func() error{}, result: Result{Plan: plan},
		}
		w.play(subject)
		result = w.result
	})
	return result
}

// A world is a run.
type world struct {
	lanes
	subject
	plan   Plan
	stores []Store // that processes reach; faults meet the first, Behind the second
	nodes  []*node
	gate   chan struct{} // held by who is at a store
	latest time.Time     // that the store's clock has shown
	over   chan struct{} // closed at the end
	wg     sync.WaitGroup

	mu     sync.Mutex
	issued map[int64]int32 // by which process, by id
	events [laneCount][]Event
	result Result
	down   [2]int // who says that a store is not reachable
	storm  int    // per cent of messages lost beyond what is usual
	kept   map[time.Duration]func() error
	procs  int
	mended time.Duration // when all faults ended; 0: they have not
	closed bool          // the trace is at its end
}

func (w *world) play(subject Subject) {
	if w.plan.Numbers != nil {
		w.perNode = numberLanes
	}
	if most := w.maxNodes(); len(w.plan.Nodes) > most {
		w.fail(fmt.Errorf("simulate: %d nodes are more than %d", len(w.plan.Nodes), most))
		return
	}
	var err error
	if w.subject, err = subject.open(w); err != nil {
		w.fail(err)
		return
	}
	w.result.Store = w.stores[0].Name()
	for i := range w.plan.Nodes {
		w.nodes = append(w.nodes, newNode(w, i))
	}
	w.follow()
	w.heal()
	w.enter()
	w.leave()
	w.end()
	w.wg.Wait()
	time.Sleep(time.Minute) // calls that nobody waits for any more
	for _, s := range w.stores {
		w.fail(s.Close())
	}
	w.result.Events = merge(&w.events)
	w.result.count()
}

// fail notes an error of the simulator itself.
func (w *world) fail(err error) {
	if err == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.result.Err = errors.Join(w.result.Err, err)
}

// event puts e on the trace.
func (w *world) event(lane int, e Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.eventLocked(lane, e)
}

func (w *world) eventLocked(lane int, e Event) {
	if !w.closed {
		e.At, e.Lane = w.now(), lane
		w.events[lane] = append(w.events[lane], e)
	}
}

// broken notes that a rule is. The caller holds w.mu.
func (w *world) broken(rule Rule, format string, args ...any) {
	if w.closed {
		return
	}
	w.result.Broken[rule]++
	if w.result.Broken[rule] == 1 {
		w.result.Violations = append(w.result.Violations, Violation{w.now(), rule, fmt.Sprintf(format, args...)})
	}
}

// sleep waits in a lane.
func (w *world) sleep(lane int, d time.Duration) { time.Sleep(w.after(lane, d)) }

func (w *world) ended() bool {
	select {
	case <-w.over:
		return true
	default:
		return false
	}
}

// count adds to one of the numbers that w.mu guards.
func (w *world) count(n *int, by int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*n += by
}

// enter waits for its turn at the stores, and looks at what the one before has done,
// which has ended by now in every way. Steps take no time, so nobody waits long; a
// mutex would stop the bubble's clock.
func (w *world) enter() {
	w.gate <- struct{}{}
	w.look(true)
	if now := w.stores[0].Now(); now.After(w.latest) {
		w.latest = now
	}
}

func (w *world) leave() { <-w.gate }

// heal ends all faults and waits until as many processes have ids as can, and each of
// them has issued one since.
func (w *world) heal() {
	w.healed()
	w.enter()
	for _, s := range w.stores {
		if back := w.latest.Sub(s.Now()); back > 0 {
			s.Step(back) // as time does: what was lent may end so late
		}
	}
	ahead := time.Until(w.stores[0].Now())
	w.look(false)
	w.leave()
	w.mu.Lock()
	w.mended = w.now()
	w.down, w.storm, w.plan.Net = [2]int{}, 0, Net{Delay: min(w.plan.Net.Delay, 5*time.Millisecond)}
	w.mu.Unlock()
	for _, n := range w.nodes {
		n.heal(ahead)
	}
	w.event(faultLane, Event{What: "heal"})

	// Old leases, then a quarantine, and what processes wait between two attempts, which
	// were the last unlucky ones.
	bound := 2*(w.plan.MaxTTL+w.plan.Skew) + w.plan.Wait + 12*time.Second
	for end := w.mended + bound; !w.settled(); w.sleep(faultLane, 20*time.Millisecond) {
		if w.now() > end {
			w.mu.Lock()
			w.broken(Starved, "%v after the network healed: %s", w.now()-w.mended, w.standing())
			w.mu.Unlock()
			break
		}
	}
	w.event(faultLane, Event{What: "settled"})
}

// settled: as many processes have ids as can, and each has issued one since all was mended.
func (w *world) settled() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	holding, want := 0, 0
	for _, n := range w.nodes {
		if n.cur == nil {
			want++ // about to start
		}
		for _, p := range n.all {
			if p.dead || p.gone {
				continue
			}
			want++
			if p.started && p.lastIssue > w.mended && p.Holding() {
				holding++
			}
		}
	}
	return holding >= min(want, w.room())
}

// standing tells who holds what. The caller holds w.mu.
func (w *world) standing() (all []string) {
	for _, n := range w.nodes {
		for _, p := range n.all {
			if !p.dead && !p.gone {
				all = append(all, fmt.Sprintf("process %d of node %d: started %v, holding %v, last id at %v, %v", p.id, n.index, p.started, p.Holding(), p.lastIssue, p.failure))
			}
		}
	}
	return all
}

// end lets everything go.
func (w *world) end() {
	w.mu.Lock()
	w.closed = true
	w.result.Time = w.now()
	w.mu.Unlock()
	close(w.over)
	for _, n := range w.nodes {
		for _, p := range n.all {
			p.cancel()
		}
	}
}

// merge puts the events of all lanes in one order. At one instant, which lanes make
// rare, it is that of the lanes.
func merge(lanes *[laneCount][]Event) []Event {
	all := slices.Concat(lanes[:]...)
	slices.SortStableFunc(all, func(a, b Event) int {
		if a.At != b.At {
			return int(a.At - b.At)
		}
		return a.Lane - b.Lane
	})
	return all
}
