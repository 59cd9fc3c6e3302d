package simulate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"          //nolint:depguard // this package serves tests only
	"testing/synctest" //nolint:depguard // this package serves tests only
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/dbseq"
	redissegments "github.com/snowlease/snowlease/redisseq/segments"
)

// What a node that issues numbers does in its lanes.
const (
	requestLane = iota
	replyLane
	sqlRequestLane
	sqlReplyLane
	useLane     // numbers are asked for
	bootLane    // processes start and stop
	retryLane   // an Issuer asks again
	installLane // a dispenser's other call of Redis
	thawLane    // who stood still goes on
	numberLanes
)

const adminLane = laneCount - 1

// A NumberResult is what came of a run of numbers.
type NumberResult struct {
	Plan       NumberPlan
	Events     []string
	Broken     [Rules]int
	Violations []Violation // the first of each rule
	Err        error       // the simulator itself could not go on

	Faults                         [Kinds]int
	Numbers, Processes, Calls      int
	Refused, Dropped, Lost, Copies int // calls that gave nothing; requests and replies lost
}

// OK reports whether no rule was broken.
func (r NumberResult) OK() bool { return r.Err == nil && len(r.Violations) == 0 }

// String tells the violations, the plan and the trace.
func (r NumberResult) String() string {
	var b strings.Builder
	if r.Err != nil {
		fmt.Fprintf(&b, "the simulator failed: %v\n", r.Err)
	}
	for _, v := range r.Violations {
		fmt.Fprintf(&b, "%12.6fms %v (%d times): %s\n", float64(v.At)/1e6, v.Rule, r.Broken[v.Rule], v.What)
	}
	fmt.Fprintf(&b, "%v%s\n", r.Plan, strings.Join(r.Events, "\n"))
	return b.String()
}

// A reservation is values of a sequence that Redis gave.
type reservation struct {
	first, n int64
	call     int // of its process
	landed   time.Duration
}

// A course is a run of numbers.
type course struct {
	lanes
	plan    NumberPlan
	subject NumberSubject
	redis   *Redis
	sql     *SQLite
	grid    time.Duration // of what happens on the network: longer than what is left to chance in the product
	center  chan struct{}
	over    chan struct{}
	wg      sync.WaitGroup

	mu     sync.Mutex
	nodes  []*issuer
	result NumberResult
	events []numberEvent
	issued map[int64]int
	top    int64 // of all numbers issued
	given  int64 // of all that a store gave
	latest time.Time
	closed bool
	kept   map[time.Duration]func() error
	down   int // nobody reaches Redis
	behind int // nobody reaches the database
	storm  int
	procs  int
}

type numberEvent struct {
	at   time.Duration
	lane int
	text string
}

// An issuer is a node. Its fields are guarded by course.mu.
type issuer struct {
	index     int
	cut, deaf int
	cur       *issuing
	all       []*issuing
	again     int
}

// An issuing is a process.
type issuing struct {
	s             *course
	node          *issuer
	id            int
	client        *redis.Client
	impl          numbers
	net, sql, use *rand.Rand
	install       *rand.Rand
	ctx           context.Context //nolint:containedctx // the life of the process
	cancel        context.CancelFunc

	// Guarded by course.mu.
	dead, stopping, copied bool
	frozen                 int
	thawed                 chan struct{}
	want                   int
	last                   int64
	lastAt                 time.Duration
	reserved               []reservation
	calls                  int // so far
	copiedAfter            int // calls
}

func (p *issuing) lane(what int) int { return 1 + p.node.index*numberLanes + what }

// RunNumbers plays a plan of numbers in a bubble of virtual time. It does not fail t.
func RunNumbers(t *testing.T, plan NumberPlan, subject NumberSubject) (result NumberResult) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		s := &course{
			lanes: lanes{start: time.Now(), used: map[int64]struct{}{}}, plan: plan, subject: subject, grid: time.Millisecond,
			center: make(chan struct{}, 1), over: make(chan struct{}), issued: map[int64]int{}, kept: map[time.Duration]func() error{},
			result: NumberResult{Plan: plan},
		}
		if plan.Source == Dispenser {
			s.grid = 20 * time.Millisecond // it waits for 2 to 12 ms
		}
		s.play()
		result = s.result
	})
	return result
}

func (s *course) play() {
	if len(s.plan.Nodes) > MaxNumberNodes {
		s.fail(fmt.Errorf("simulate: %d nodes are more than %d", len(s.plan.Nodes), MaxNumberNodes))
		return
	}
	s.fail(s.stores())
	for i := range s.plan.Nodes {
		s.nodes = append(s.nodes, &issuer{index: i})
	}
	if s.result.Err == nil {
		s.follow()
		s.heal()
	}
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	close(s.over)
	for _, n := range s.nodes {
		for _, p := range n.all {
			p.cancel()
		}
	}
	s.wg.Wait()
	time.Sleep(time.Minute) // calls that nobody waits for any more
	if s.redis != nil {
		s.fail(s.redis.Close())
	}
	if s.sql != nil {
		s.fail(s.sql.Close())
	}
	slices.SortStableFunc(s.events, func(a, b numberEvent) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return a.lane - b.lane
	})
	for _, e := range s.events {
		s.result.Events = append(s.result.Events, fmt.Sprintf("%12.6fms %s", float64(e.at)/1e6, e.text))
	}
}

// stores makes what the source needs.
func (s *course) stores() (err error) {
	if !s.plan.Source.onSQL() {
		if s.redis, err = newRedis(); err != nil {
			return err
		}
	}
	if s.redis == nil || s.plan.Source == Dispenser {
		if s.sql, err = newSQLite(s.subject.SQL); err != nil {
			return err
		}
		store, err := dbseq.NewSegments(s.sql.DB, dbseq.WithPool(s.sql.pool))
		if err != nil {
			return err
		}
		return store.Create(context.Background(), "other", 1) // which makes the table
	}
	if s.plan.Source == RedisSegments {
		return s.administer(func(r *redissegments.Store) error { return r.Create(context.Background(), namespace, 1) })
	}
	return nil
}

func (s *course) administer(do func(*redissegments.Store) error) error {
	store, err := redissegments.New(s.redis.direct)
	if err != nil {
		return err
	}
	return do(store)
}

func (s *course) fail(err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.result.Err = errors.Join(s.result.Err, err)
}

func (s *course) event(lane int, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.eventLocked(lane, format, args...)
}

func (s *course) eventLocked(lane int, format string, args ...any) {
	if !s.closed {
		s.events = append(s.events, numberEvent{s.now(), lane, fmt.Sprintf(format, args...)})
	}
}

func (s *course) broken(rule Rule, format string, args ...any) {
	if s.closed {
		return
	}
	s.result.Broken[rule]++
	if s.result.Broken[rule] == 1 {
		s.result.Violations = append(s.result.Violations, Violation{s.now(), rule, fmt.Sprintf(format, args...)})
	}
}

func (s *course) sleep(lane int, d time.Duration) { time.Sleep(s.after(lane, d)) }

func (s *course) ended() bool {
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

func (s *course) enter() {
	s.center <- struct{}{}
	if s.redis != nil {
		if now := s.redis.Now(); now.After(s.latest) {
			s.latest = now
		}
	}
}

func (s *course) leave() { <-s.center }

// gave notes the greatest number that a store gave.
func (s *course) gave(last int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given = max(s.given, last)
}

// reserved reads what a script gave: the values of a sequence, or nil.
func (s *course) reserved(cmd redis.Cmder) *reservation {
	c, ok := cmd.(*redis.Cmd)
	if !ok || cmd.Err() != nil {
		return nil
	}
	var n [3]int64
	reply, err := c.StringSlice()
	if err != nil || len(reply) < 3 || reply[0] != "OK" {
		return nil
	}
	for i := range min(len(n), len(reply)-1) {
		if _, err := fmt.Sscan(reply[i+1], &n[i]); err != nil {
			return nil
		}
	}
	switch s.plan.Source {
	case RedisSegments:
		s.gave(n[1])
	case Sequence:
		if n[2] > 0 {
			return &reservation{first: n[0]<<s.seqBits() | n[1], n: n[2]}
		}
	}
	return nil
}

func (s *course) seqBits() uint { return uint(s.plan.Sequence.Layout.WithDefaults().SequenceBits) }

// value is the place of an id in its sequence.
func (s *course) value(id int64) int64 {
	l := s.plan.Sequence.Layout.WithDefaults()
	return id>>(l.WorkerBits+l.BusinessBits+l.SequenceBits)<<l.SequenceBits | id&(l.PerTick()-1)
}

// got notes what reached a process.
func (p *issuing) got(r *reservation, call int) {
	if r == nil {
		return
	}
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	r.call, r.landed = call, p.s.now()
	p.reserved = append(p.reserved, *r)
}
