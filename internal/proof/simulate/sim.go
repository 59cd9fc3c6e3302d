package simulate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"          //nolint:depguard // this package serves tests only
	"testing/synctest" //nolint:depguard // this package serves tests only
	"time"

	"github.com/snowlease/snowlease/lease"
)

// Run plays a plan with the subject, in a bubble of virtual time, and returns what
// came of it. It does not fail t.
func Run(t *testing.T, plan Plan, subject Subject) (result Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		result = play(t.Context(), plan, subject)
	})
	return result
}

// A sim is a run.
type sim struct {
	lanes
	plan    Plan
	subject Subject
	store   Store
	nodes   []*node
	center  chan struct{} // held by who is at the center
	latest  time.Time     // that the center's clock has shown
	over    chan struct{} // closed at the end
	wg      sync.WaitGroup

	mu     sync.Mutex
	ledger *ledger
	events [laneCount][]Event
	result Result
	down   int // who says that the center is not reachable
	storm  int // per cent of messages lost beyond what is usual
	kept   map[time.Duration]func() error
	procs  int
	closed bool // the trace is at its end

	loss    time.Duration // when records were lost last
	healing bool
}

func play(ctx context.Context, plan Plan, subject Subject) Result {
	s := &sim{
		lanes: lanes{start: time.Now(), used: map[int64]struct{}{}},
		plan:  plan, subject: subject, ledger: newLedger(),
		center: make(chan struct{}, 1), over: make(chan struct{}),
		kept: map[time.Duration]func() error{}, result: Result{Plan: plan},
	}
	if subject.Process == nil {
		s.subject.Process = NewProcess
	}
	if subject.Center == nil {
		s.subject.Center = Store.Center
	}
	if len(plan.Nodes) > MaxNodes {
		s.result.Err = fmt.Errorf("simulate: %d nodes are more than %d", len(plan.Nodes), MaxNodes)
		return s.result
	}
	store, err := subject.Store()
	if err != nil {
		s.result.Err = err
		return s.result
	}
	s.store, s.result.Store = store, store.Name()
	if !plan.New {
		s.fail(s.open(ctx))
	}
	for i := range plan.Nodes {
		s.nodes = append(s.nodes, newNode(s, i))
	}
	s.follow()
	s.heal()
	s.enter()
	s.leave()
	s.end()
	s.wg.Wait()
	s.fail(s.store.Close())
	s.result.Events = merge(&s.events)
	return s.result
}

// open opens the namespace with the product's center.
func (s *sim) open(ctx context.Context) error {
	c, err := s.store.Center(&Host{Layout: s.plan.Layout, Ahead: s.plan.Ahead})
	if err != nil {
		return err
	}
	req := s.request(s.plan.MaxTTL)
	req.Owner[0] = 1
	return c.(lease.Initializer).Init(ctx, req)
}

func (s *sim) request(ttl time.Duration) lease.Request {
	return lease.Request{
		Namespace: namespace, Layout: s.plan.Layout.String(), Holder: "simulated",
		Pool: s.plan.Pool, Last: s.plan.Pool - 1,
		TTL: ttl, MaxTTL: s.plan.MaxTTL, Skew: s.plan.Skew,
	}
}

// fail notes an error of the simulator itself.
func (s *sim) fail(err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.result.Err = errors.Join(s.result.Err, err)
}

// event puts e on the trace.
func (s *sim) event(lane int, e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.eventLocked(lane, e)
}

func (s *sim) eventLocked(lane int, e Event) {
	if !s.closed {
		e.At, e.Lane = s.now(), lane
		s.events[lane] = append(s.events[lane], e)
	}
}

func (s *sim) broken(rule Rule, format string, args ...any) {
	if s.closed {
		return
	}
	s.result.Broken[rule]++
	if s.result.Broken[rule] == 1 {
		s.result.Violations = append(s.result.Violations, Violation{s.now(), rule, fmt.Sprintf(format, args...)})
	}
}

// sleep waits in a lane.
func (s *sim) sleep(lane int, d time.Duration) { time.Sleep(s.after(lane, d)) }

func (s *sim) ended() bool {
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

// enter waits for its turn at the center, and looks at what the one before has done,
// which has ended by now in every way. Steps take no time, so nobody waits long; a
// mutex would stop the bubble's clock.
func (s *sim) enter() {
	s.center <- struct{}{}
	s.look(true)
	if now := s.store.Now(); now.After(s.latest) {
		s.latest = now
	}
}

func (s *sim) leave() { <-s.center }

// look reads the records. compare: nothing but the protocol has changed them.
func (s *sim) look(compare bool) {
	slots, err := s.store.Slots()
	s.fail(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !compare {
		s.ledger.slots = slots
	} else if wrong := s.ledger.seen(slots); wrong != "" {
		s.broken(MarkFell, "%s", wrong)
	}
}
