package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A Subject is what a run tests: WorkerIDs or Numbers.
type Subject interface {
	// open makes the stores of a world and the subject's part of it.
	open(*world) (subject, error)
}

// A subject is what differs between worlds: what processes ask for, and what they may
// get. world.mu guards its records.
type subject interface {
	// program makes what runs in a process.
	program(*process) (program, error)
	// follow adds actions to a plan's faults.
	follow(at func(time.Duration, func()))
	// look reads the records of the store that the caller is at. compare says that
	// only the product has changed them since.
	look(compare bool)
	// lost is called after each loss of records; healed is called when the last fault
	// has ended.
	lost()
	healed()
	// room returns how many processes can have ids at a time. The caller holds world.mu.
	room() int
}

// A program asks for ids as services do, and checks them.
type program interface {
	Start(ctx context.Context) error
	use()
	Stop(ctx context.Context) error
	// Holding reports whether it can make ids.
	Holding() bool
}

// Run plays a plan with the subject, in a bubble of virtual time, and returns the
// outcome. It does not fail t.
func Run(t *testing.T, plan Plan, subject Subject) (result Result) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		time.Sleep(366 * 24 * time.Hour) // the epochs of plans lie a year before, and none before 2000
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
	stores []Store // reached by processes; faults affect the first, Behind the second
	nodes  []*node
	gate   chan struct{} // held by whoever is at a store
	latest time.Time     // the latest time that the store's clock has shown
	over   chan struct{} // closed at the end
	wg     sync.WaitGroup

	mu     sync.Mutex
	issued map[int64]int32 // id to process
	events [laneCount][]Event
	result Result
	down   [2]int // how many faults make a store unreachable
	storm  int    // percent of messages lost on top of the usual
	kept   map[time.Duration]func() error
	procs  int
	mended time.Duration // when all faults ended; 0: not yet
	closed bool          // the trace is complete
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
	time.Sleep(time.Minute) // lets abandoned calls end
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

// broken notes that a rule was broken. The caller holds w.mu.
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

// count adds to a number that w.mu guards.
func (w *world) count(n *int, by int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*n += by
}

// enter waits for its turn at the stores and checks what the previous step, which has
// ended completely, has done. Steps take no time, so the wait is short. A mutex would
// stop the bubble's clock.
func (w *world) enter() {
	w.gate <- struct{}{}
	w.look(true)
	if now := w.stores[0].Now(); now.After(w.latest) {
		w.latest = now
	}
}

func (w *world) leave() { <-w.gate }

// heal ends all faults and waits until as many processes have ids as can, and each has
// issued one since.
func (w *world) heal() {
	w.healed()
	w.enter()
	for _, s := range w.stores {
		if back := w.latest.Sub(s.Now()); back > 0 {
			s.Step(back) // as time passes: leases may end that late
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

	// Old leases, a quarantine, and the longest pause between two attempts, the last
	// of which may have just failed.
	bound := 2*(w.plan.most().MaxTTL+w.plan.most().Skew) + w.plan.Wait + 12*time.Second
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

// settled reports whether as many processes have ids as can, and each has issued one
// since the faults were mended.
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

// standing describes who holds what. The caller holds w.mu.
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

// end releases everything.
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

// merge orders the events of all lanes by time. Events at the same instant, which
// lanes make rare, are ordered by lane.
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
