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

// follow starts the nodes and plays the plan's faults in order.
func (w *world) follow() {
	var actions []action
	at := func(at time.Duration, do func()) { actions = append(actions, action{min(at, w.plan.Length), do}) }
	for i, n := range w.plan.Nodes {
		at(n.Start, w.nodes[i].boot)
	}
	for _, f := range w.plan.Faults {
		if f.Kind == Failover {
			at(max(0, f.At-f.For), func() { w.keep(f) })
		}
		at(f.At, func() {
			w.count(&w.result.Faults[f.Kind], 1)
			w.event(faultLane, Event{What: f.String()})
			w.strike(f)
		})
		if end := w.mend(f); end != nil {
			at(f.At+f.For, end)
		}
	}
	w.subject.follow(at)
	slices.SortStableFunc(actions, func(a, b action) int { return int(a.at - b.at) })
	for _, a := range actions {
		w.sleep(faultLane, a.at-w.now())
		a.do()
	}
	w.sleep(faultLane, w.plan.Length-w.now())
}

// strike begins a fault.
func (w *world) strike(f Fault) {
	n := w.nodes[f.Node]
	switch f.Kind {
	case Crash:
		n.crash(f.For)
	case Stop:
		n.stop(f.N, f.For)
	case Deploy:
		w.count(&n.times, f.N-n.times)
		n.stop(0, f.For)
	case Freeze, Suspend:
		n.freeze(f)
	case Burst, Copy:
		n.burst(f.N, f.Kind == Copy)
	case Cut:
		w.count(&n.cut, 1)
	case LoseReply:
		w.count(&n.deaf, 1)
	case StepClock:
		n.clock.step(f.By)
	case Rate:
		n.clock.set(f.N, 0)
	case StepWall:
		n.clock.stepWall(f.By)
	case Down, Restart:
		w.count(&w.down[0], 1)
	case Behind:
		w.count(&w.down[1], 1)
	case Storm:
		w.count(&w.storm, f.N)
	default:
		w.enter()
		w.fail(w.harm(f))
		w.look(false)
		w.leave()
		if f.Kind.loses() {
			w.lost()
		}
	}
}

// mend returns what ends a fault, or nil if it is permanent.
func (w *world) mend(f Fault) func() {
	switch f.Kind {
	case Cut:
		return func() { w.count(&w.nodes[f.Node].cut, -1) }
	case Down:
		return func() { w.count(&w.down[0], -1) }
	case Behind:
		return func() { w.count(&w.down[1], -1) }
	case Storm:
		return func() { w.count(&w.storm, -f.N) }
	case Restart:
		return func() {
			w.enter()
			w.fail(w.stores[0].Reincarnate())
			w.leave()
			w.count(&w.down[0], -1)
			w.lost()
		}
	}
	return nil
}

// keep makes the replica that a failover will promote.
func (w *world) keep(f Fault) {
	w.enter()
	defer w.leave()
	restore, err := w.stores[0].Snapshot()
	w.fail(err)
	w.kept[f.At] = restore
}

// harm changes the clock of the stores, or the records of the first store.
func (w *world) harm(f Fault) error {
	switch f.Kind {
	case StepCenter:
		for _, s := range w.stores {
			s.Step(f.By)
		}
		if _, near := w.stores[0].(nearby); near {
			for _, n := range w.nodes {
				n.clock.stepWall(f.By)
			}
		}
		return nil
	case Failover:
		if err := w.kept[f.At](); err != nil {
			return err
		}
		return w.stores[0].Reincarnate()
	case DropSome:
		for _, s := range w.plan.some(f.N) {
			if err := w.lose(s.what, s.worker); err != nil {
				return err
			}
		}
		return nil
	}
	return w.lose(f.Kind, f.Worker)
}
