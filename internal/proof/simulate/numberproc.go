package simulate

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/snowlease/snowlease/history"
	"github.com/snowlease/snowlease/lease"
	redissegments "github.com/snowlease/snowlease/redisseq/segments"
	"github.com/snowlease/snowlease/segment"
	"github.com/snowlease/snowlease/snowflake"
)

// follow starts the nodes and lets the faults happen.
func (s *course) follow() {
	var actions []action
	at := func(at time.Duration, do func()) { actions = append(actions, action{min(at, s.plan.Length), do}) }
	for i, n := range s.plan.Nodes {
		at(n.Start, func() { s.boot(s.nodes[i]) })
	}
	for _, f := range s.plan.Faults {
		if f.Kind == Failover {
			at(max(0, f.At-f.For), func() { s.keep(f) })
		}
		at(f.At, func() {
			s.mu.Lock()
			s.result.Faults[f.Kind]++
			s.mu.Unlock()
			s.event(faultLane, "%v", f)
			s.strike(f)
		})
		if end := s.mend(f); end != nil {
			at(f.At+f.For, end)
		}
		if f.Kind.loses() && s.plan.Source == RedisSegments {
			at(f.At+f.For+time.Second, s.resume)
		}
	}
	if s.plan.Source == Past {
		at(s.plan.Raise, s.raise)
	}
	slices.SortStableFunc(actions, func(a, b action) int { return int(a.at - b.at) })
	for _, a := range actions {
		s.sleep(faultLane, a.at-s.now())
		a.do()
	}
	s.sleep(faultLane, s.plan.Length-s.now())
}

// raise ends all processes, and starts them anew with one more reserved worker id.
func (s *course) raise() {
	s.event(faultLane, "one more worker id is reserved")
	for i, n := range s.nodes {
		if s.now() >= s.plan.Nodes[i].Start {
			s.strike(Fault{Kind: Stop, Node: n.index, For: 100 * time.Millisecond})
		}
	}
}

func (s *course) add(n *int, by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*n += by
}

func (s *course) keep(f Fault) {
	s.enter()
	defer s.leave()
	restore, err := s.redis.Snapshot()
	s.fail(err)
	s.kept[f.At] = restore
}

func (s *course) strike(f Fault) {
	n := s.nodes[f.Node]
	switch f.Kind {
	case Crash, Stop:
		s.mu.Lock()
		if p := n.cur; p != nil {
			p.dead, p.stopping = f.Kind == Crash, f.Kind == Stop
			n.cur = nil
		}
		n.again++
		again := n.again
		s.mu.Unlock()
		s.wg.Go(func() {
			s.sleep(1+n.index*numberLanes+bootLane, f.For)
			s.mu.Lock()
			mine := n.again == again
			s.mu.Unlock()
			if mine {
				s.boot(n)
			}
		})
	case Freeze:
		s.freeze(n, f.For)
	case Cut:
		s.add(&n.cut, 1)
	case LoseReply:
		s.add(&n.deaf, 1)
	case Down, Restart:
		s.add(&s.down, 1)
	case Behind:
		s.add(&s.behind, 1)
	case Storm:
		s.add(&s.storm, f.N)
	case Burst, Copy:
		s.mu.Lock()
		if n.cur != nil {
			n.cur.want += f.N
			n.cur.copied = n.cur.copied || f.Kind == Copy
		}
		s.mu.Unlock()
	default:
		s.enter()
		s.fail(s.harm(f))
		s.leave()
	}
}

func (s *course) mend(f Fault) func() {
	switch f.Kind {
	case Cut:
		return func() { s.add(&s.nodes[f.Node].cut, -1) }
	case Down:
		return func() { s.add(&s.down, -1) }
	case Behind:
		return func() { s.add(&s.behind, -1) }
	case Storm:
		return func() { s.add(&s.storm, -f.N) }
	case Restart:
		return func() {
			s.enter()
			s.fail(s.restarted())
			s.leave()
			s.add(&s.down, -1)
		}
	}
	return nil
}

// restarted: another server, which knows no scripts.
func (s *course) restarted() error {
	return errors.Join(s.redis.Reincarnate(), s.redis.direct.ScriptFlush(context.Background()).Err())
}

func (s *course) harm(f Fault) error {
	ctx := context.Background()
	switch f.Kind {
	case StepCenter:
		if s.redis != nil {
			s.redis.Step(f.By)
		}
		if s.sql != nil {
			s.sql.Step(f.By)
		}
		return nil
	case Failover:
		return errors.Join(s.kept[f.At](), s.restarted())
	case DropMeta:
		return s.redis.direct.Del(ctx, key("sequence"), key("segment"), key("dispenser")).Err()
	}
	return s.redis.direct.FlushAll(ctx).Err()
}

// resume is what an administrator of redisseq/segments.Store does after a loss.
func (s *course) resume() {
	s.enter()
	defer s.leave()
	s.mu.Lock()
	given := s.given
	if s.subject.Resume != nil {
		given = s.subject.Resume(s.given, s.top)
	}
	s.mu.Unlock()
	s.event(adminLane, "resumed above %d", given)
	s.fail(s.administer(func(r *redissegments.Store) error {
		ctx := context.Background()
		err := r.Resume(ctx, namespace, given)
		if errors.Is(err, segment.ErrUnknown) {
			return r.Create(ctx, namespace, given+1)
		}
		return err
	}))
}

func (s *course) freeze(n *issuer, d time.Duration) {
	s.mu.Lock()
	p := n.cur
	if p != nil {
		if p.frozen == 0 {
			p.thawed = make(chan struct{})
		}
		p.frozen++
	}
	s.mu.Unlock()
	if p == nil {
		return
	}
	s.wg.Go(func() {
		s.sleep(p.lane(thawLane), d)
		s.mu.Lock()
		defer s.mu.Unlock()
		if p.frozen--; p.frozen == 0 {
			close(p.thawed)
		}
	})
}

// boot starts a process.
func (s *course) boot(n *issuer) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	n.again++
	s.procs++
	s.result.Processes++
	p := &issuing{
		s: s, node: n, id: s.procs,
		net: source(s.plan.Dice, s.procs, 1), sql: source(s.plan.Dice, s.procs, 2), use: source(s.plan.Dice, s.procs, 3),
		install: source(s.plan.Dice, s.procs, 4),
	}
	p.ctx, p.cancel = context.WithCancel(context.Background()) //nolint:gosec // play calls it
	n.cur, n.all = p, append(n.all, p)
	s.mu.Unlock()
	if s.redis != nil {
		p.client = s.redis.connect()
		p.client.AddHook(commands{p})
	}
	impl, err := p.make()
	if err != nil {
		s.fail(err)
		return
	}
	p.impl = impl
	s.event(p.lane(bootLane), "node %d: process %d starts", n.index, p.id)
	s.wg.Go(p.live)
}

// live issues numbers until the process ends, and frees what it has once the run is
// over: who has crashed does no such thing.
func (p *issuing) live() {
	s := p.s
	defer func() {
		p.cancel()
		p.impl.close()
		if p.client != nil {
			_ = p.client.Close()
		}
	}()
	for p.gate() == nil {
		ctx, cancel := p.within(p.ctx, 5*time.Second, 0)
		err := p.impl.open(ctx)
		cancel()
		var q *lease.QuarantineError
		if err == nil || s.plan.Source == Sequence && errors.As(err, &q) {
			break
		}
		s.event(p.lane(useLane), "node %d: process %d cannot start: %s", p.node.index, p.id, outcome(err))
		s.sleep(p.lane(useLane), 200*time.Millisecond)
	}
	for {
		mean := s.plan.Nodes[p.node.index].Issue
		s.sleep(p.lane(useLane), mean/2+time.Duration(p.use.Int64N(int64(mean))))
		if p.gate() != nil {
			return
		}
		s.mu.Lock()
		stopping, copied, n := p.stopping, p.copied, p.want
		p.copied, p.want = false, 0
		s.mu.Unlock()
		if stopping {
			s.event(p.lane(useLane), "node %d: process %d stops", p.node.index, p.id)
			return
		}
		if copied {
			p.copy()
		}
		if n++; p.use.IntN(5) == 0 {
			n += p.use.IntN(20)
		}
		p.issue(n)
	}
}

// copy: the process has a twin with the same memory, which knows of it as well.
func (p *issuing) copy() {
	s := p.s
	if !s.subject.NoReset {
		p.impl.reset()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p.copiedAfter = p.calls
	s.result.Copies++
	s.eventLocked(p.lane(useLane), "node %d: process %d was copied", p.node.index, p.id)
}

// within ends just before a line of the grid and anything that happens there: outer
// contexts and inner ones, and those of different processes, at moments of their own.
func (p *issuing) within(ctx context.Context, d time.Duration, inner int) (context.Context, context.CancelFunc) {
	now := p.s.now()
	line := (now + d) / p.s.grid * p.s.grid
	return context.WithTimeout(ctx, line-time.Duration(2*p.id+inner)*time.Microsecond-now)
}

// issue asks for n numbers and checks them.
func (p *issuing) issue(n int) {
	s := p.s
	s.mu.Lock()
	before := s.top
	s.mu.Unlock()
	ctx, cancel := p.within(p.ctx, 3*time.Second, 0)
	defer cancel()
	dst := make([]int64, n)
	err := p.impl.NextIDs(ctx, dst)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || p.dead {
		return
	}
	if err != nil {
		s.result.Refused++
		s.eventLocked(p.lane(useLane), "node %d: process %d wants %d: %s", p.node.index, p.id, n, outcome(err))
		return
	}
	s.eventLocked(p.lane(useLane), "node %d: process %d issues %d from %d to %d", p.node.index, p.id, n, dst[0], dst[n-1])
	s.result.Numbers += n
	p.lastAt = s.now()
	if n, ok := p.impl.(*past); ok {
		n.check(dst)
	}
	for _, id := range dst {
		if other, ok := s.issued[id]; ok {
			s.broken(Duplicate, "%d was issued by process %d and by process %d", id, other, p.id)
		}
		s.issued[id] = p.id
		if s.plan.Source == Past {
			continue
		}
		if id <= p.last {
			s.broken(Falls, "process %d issued %d after %d", p.id, id, p.last)
		}
		if s.plan.Strict && id <= before {
			s.broken(Disorder, "process %d issued %d, which it asked for after %d", p.id, id, before)
		}
		p.last, s.top = id, max(s.top, id)
		if s.plan.Source == Sequence {
			p.check(id, n)
		}
	}
}

// check looks for the reservation that an id is of.
func (p *issuing) check(id int64, n int) {
	s, v := p.s, p.s.value(id)
	for i := len(p.reserved) - 1; i >= 0; i-- {
		r := p.reserved[i]
		if v < r.first || v >= r.first+r.n {
			continue
		}
		if r.call <= p.copiedAfter {
			s.broken(Foreign, "process %d issued %d, which its copy has too", p.id, id)
		}
		if age := s.now() - r.landed; n == 1 && age > s.plan.Sequence.MaxAge {
			s.broken(Aged, "process %d issued %d after %v", p.id, id, age)
		}
		return
	}
	s.broken(Foreign, "process %d issued %d, which it was not given", p.id, id)
}

// heal ends all faults and waits until each process issues numbers.
func (s *course) heal() {
	s.enter()
	for _, store := range []interface {
		Step(by time.Duration)
		Now() time.Time
	}{s.redis, s.sql} {
		if r, ok := store.(*Redis); ok && r == nil {
			continue
		}
		if db, ok := store.(*SQLite); ok && db == nil {
			continue
		}
		if back := s.latest.Sub(store.Now()); back > 0 {
			store.Step(back)
		}
	}
	s.leave()
	s.mu.Lock()
	s.down, s.behind, s.storm, s.plan.Net = 0, 0, 0, Net{Delay: min(s.plan.Net.Delay, 5*time.Millisecond)}
	for _, n := range s.nodes {
		n.cut, n.deaf = 0, 0
	}
	s.eventLocked(faultLane, "heal")
	s.mu.Unlock()
	since := s.now()
	if s.plan.Source == RedisSegments {
		s.resume()
	}
	for end := since + s.plan.settle(); !s.settled(since); s.sleep(faultLane, 50*time.Millisecond) {
		if s.now() > end {
			s.mu.Lock()
			s.broken(Starved, "%v after the network healed not all processes issue numbers", s.now()-since)
			s.mu.Unlock()
			return
		}
	}
}

func (s *course) settled(since time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.nodes {
		if n.cur == nil || n.cur.lastAt <= since {
			return false
		}
	}
	return true
}

// A crossing is a call to a store and its way there and back.
type crossing struct {
	name        string
	redis       bool
	dice        *rand.Rand
	there, back int // lanes
	serve       func(context.Context) error
	again       func(context.Context) // the same call, when it arrives twice
	arrived     func(call int)        // the answer has
}

// cross carries a call to a store.
func (p *issuing) cross(ctx context.Context, c crossing) error {
	s := p.s
	if deadline, ok := ctx.Deadline(); ok {
		s.take(deadline)
	}
	p.onGrid(c.there, 0)
	if err := p.gate(); err != nil {
		return err
	}
	s.mu.Lock()
	s.result.Calls++
	p.calls++
	call := p.calls
	net := s.plan.Net
	percent := func(n int) bool { return c.dice.IntN(100) < n }
	trip := func() time.Duration {
		d := time.Duration(c.dice.Int64N(int64(net.Delay) + 1))
		if c.dice.IntN(10) == 0 {
			d *= 5
		}
		return d
	}
	there, back, lost, mute := trip(), trip(), percent(net.Lost+s.storm), percent(net.Lost+s.storm)
	twice, late, reset := percent(net.Double+s.storm), time.Duration(c.dice.Int64N(int64(4*time.Second))), percent(50)
	if p.node.deaf > 0 {
		p.node.deaf--
		mute = true
	}
	s.mu.Unlock()
	beyond := context.WithValue(context.WithoutCancel(ctx), passageKey{}, &steps{p: p})
	if twice {
		s.wg.Go(func() {
			p.onGrid(c.there, there+late)
			if !s.ended() && p.reaches(c) {
				s.event(p.lane(c.there), "%s: a call of process %d arrives again", c.name, p.id)
				c.again(context.WithValue(beyond, passageKey{}, &steps{p: p}))
			}
		})
	}
	p.onGrid(c.there, there)
	if s.ended() {
		return errOver
	}
	arrived := !lost && p.reaches(c)
	var err error
	if arrived {
		err = c.serve(beyond)
		s.event(p.lane(c.there), "%s: process %d: %s", c.name, p.id, outcome(err))
	}
	heard := arrived && !mute && p.reaches(c)
	if !heard {
		s.mu.Lock()
		if arrived {
			s.result.Lost++
		} else {
			s.result.Dropped++
		}
		s.mu.Unlock()
	}
	if !heard && !reset { // silence
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.over:
			return errOver
		}
	}
	p.onGrid(c.back, back)
	if err := p.gate(); err != nil {
		return err
	}
	if !heard {
		return errNetwork
	}
	if c.arrived != nil {
		c.arrived(call)
	}
	return err
}

// onGrid waits for d and the next line of the grid, and for a moment after it that is
// like no other: nothing that the product waits for from then on ends together with
// anything else.
func (p *issuing) onGrid(lane int, d time.Duration) {
	s := p.s
	up := func(d time.Duration) time.Duration { return (d + s.grid - 1) / s.grid * s.grid }
	now := s.now()
	at := up(now) + up(d)
	moment := rand.NewPCG(uint64(at), uint64(p.id)<<8|uint64(lane)).Uint64() % 500_000
	s.sleep(p.lane(lane), at+time.Duration(moment)-now)
}

func (p *issuing) reaches(c crossing) bool {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case p.node.cut > 0:
		return false
	case c.redis || s.plan.Source.onSQL():
		return s.down == 0
	}
	return s.behind == 0
}

// gate holds a process that stands still, and one that is dead until the run is over.
func (p *issuing) gate() error {
	s := p.s
	for {
		s.mu.Lock()
		frozen, dead, thawed := p.frozen > 0, p.dead, p.thawed
		s.mu.Unlock()
		switch {
		case s.ended():
			return errOver
		case dead:
			<-s.over
		case frozen:
			select {
			case <-thawed:
				s.sleep(p.lane(thawLane), 1)
			case <-s.over:
			}
		default:
			return nil
		}
	}
}

// outcome names an error, since texts are not the same in each run.
func outcome(err error) string {
	var q *lease.QuarantineError
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &q):
		return "quarantine"
	case errors.Is(err, history.ErrFull):
		return "full"
	case errors.Is(err, history.ErrTime):
		return "time"
	case errors.Is(err, segment.ErrUnknown):
		return "unknown"
	case errors.Is(err, redissegments.ErrChanged):
		return "changed"
	case errors.Is(err, errOver):
		return "over"
	case errors.Is(err, snowflake.ErrExhausted):
		return "exhausted"
	case errors.Is(err, errNetwork):
		return "network"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return "refused"
}
