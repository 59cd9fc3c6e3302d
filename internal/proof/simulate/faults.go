package simulate

import (
	"slices"
	"time"
)

// An action is one end of a fault.
type action struct {
	at time.Duration
	do func()
}

// follow starts the nodes and lets the faults of the plan happen, in their order.
func (s *sim) follow() {
	var actions []action
	at := func(at time.Duration, do func()) { actions = append(actions, action{min(at, s.plan.Length), do}) }
	for i, n := range s.plan.Nodes {
		at(n.Start, s.nodes[i].boot)
	}
	for _, f := range s.plan.Faults {
		if f.Kind == Failover {
			at(max(0, f.At-f.For), func() { s.keep(f) })
		}
		at(f.At, func() {
			s.mu.Lock()
			s.result.Faults[f.Kind]++
			s.mu.Unlock()
			s.event(faultLane, Event{What: f.String()})
			s.strike(f)
		})
		if end := s.mend(f); end != nil {
			at(f.At+f.For, end)
		}
	}
	slices.SortStableFunc(actions, func(a, b action) int { return int(a.at - b.at) })
	for _, a := range actions {
		s.sleep(faultLane, a.at-s.now())
		a.do()
	}
	s.sleep(faultLane, s.plan.Length-s.now())
}

// strike lets a fault begin.
func (s *sim) strike(f Fault) {
	n := s.nodes[f.Node]
	switch f.Kind {
	case Crash:
		n.crash(f.For)
	case Stop:
		n.stop(f.N, f.For)
	case Freeze, Suspend:
		n.freeze(f)
	case Burst:
		n.burst(f.N)
	case Cut:
		s.count(&n.cut, 1)
	case LoseReply:
		s.count(&n.deaf, 1)
	case StepClock:
		n.clock.step(f.By)
	case Rate:
		n.clock.set(f.N, 0)
	case StepWall:
		n.clock.stepWall(f.By)
	case Down:
		s.count(&s.down, 1)
	case Restart:
		s.count(&s.down, 1)
		s.reboot(f.For)
	case Storm:
		s.count(&s.storm, f.N)
	default:
		s.enter()
		s.fail(s.harm(f))
		s.look(false)
		s.leave()
		if f.Kind.loses() {
			s.lost()
		}
	}
}

// mend returns how a fault ends, nil where it is for good.
func (s *sim) mend(f Fault) func() {
	switch f.Kind {
	case Cut:
		return func() { s.count(&s.nodes[f.Node].cut, -1) }
	case Down:
		return func() { s.count(&s.down, -1) }
	case Storm:
		return func() { s.count(&s.storm, -f.N) }
	case Restart:
		return func() {
			s.enter()
			s.fail(s.store.Reincarnate())
			s.leave()
			s.count(&s.down, -1)
			s.lost()
		}
	}
	return nil
}

func (s *sim) count(n *int, by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*n += by
}

// keep makes the replica that a failover will go to.
func (s *sim) keep(f Fault) {
	s.enter()
	defer s.leave()
	restore, err := s.store.Snapshot()
	s.fail(err)
	s.kept[f.At] = restore
}

// harm does something to the center's records or clock.
func (s *sim) harm(f Fault) error {
	switch f.Kind {
	case StepCenter:
		s.store.Step(f.By)
		return nil
	case Failover:
		if err := s.kept[f.At](); err != nil {
			return err
		}
		return s.store.Reincarnate()
	}
	return s.store.Lose(f.Kind, f.Worker)
}

// heal ends all faults and waits until as many processes hold a worker id as can, and
// each of them has issued an id.
func (s *sim) heal() {
	s.overdue()
	s.enter()
	if back := s.latest.Sub(s.store.Now()); back > 0 {
		s.store.Step(back) // as time does: what was lent may end so late
	}
	ahead := time.Until(s.store.Now())
	s.look(false)
	s.leave()
	s.mu.Lock()
	s.healing = true
	s.down, s.storm, s.plan.Net = 0, 0, Net{Delay: min(s.plan.Net.Delay, 5*time.Millisecond)}
	s.mu.Unlock()
	for _, n := range s.nodes {
		n.heal(ahead)
	}
	s.event(faultLane, Event{What: "heal"})

	// Old leases, then a quarantine, and what keepers and processes wait between two
	// attempts, which were the last unlucky ones.
	bound := 2*(s.plan.MaxTTL+s.plan.Skew) + s.plan.Wait + 12*time.Second
	since := s.now()
	for end := since + bound; !s.settled(since); s.sleep(faultLane, 20*time.Millisecond) {
		if s.now() > end {
			s.mu.Lock()
			s.broken(Starved, "%v after the network healed: %s", s.now()-since, s.standing())
			s.mu.Unlock()
			break
		}
	}
	s.event(faultLane, Event{What: "settled"})
}

// end lets everything go.
func (s *sim) end() {
	s.mu.Lock()
	s.closed = true
	s.result.Length = s.now()
	s.mu.Unlock()
	close(s.over)
	for _, n := range s.nodes {
		for _, p := range n.all {
			p.cancel()
		}
	}
}
