//go:build prove

package generator

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/snowlease/snowlease/snowflake"
	"github.com/stretchr/testify/require"
)

// An actor runs until its next pause point each time it is stepped.
type actor struct {
	name   string
	step   chan struct{}
	paused chan bool // true: done
}

// explore runs the actors that setup returns in every order of their steps, one at a
// time. After each run it calls setup's check. There are more than least orders.
func explore(t *testing.T, least int, setup func(b *bench, l *issueLog) (actors map[string]func(), check func() error)) {
	t.Helper()
	orders := 0
	for plan := []int{}; ; orders++ {
		b := newBench(t, snowflake.Layout{SequenceBits: 4, TimeBits: 41})
		var current *actor
		b.at = func(point) {
			if a := current; a != nil {
				a.paused <- false
				<-a.step
			}
		}
		bodies, check := setup(b, &issueLog{b: b, used: map[int64]int64{}})
		var live []*actor
		for _, name := range []string{"a", "b", "c", "d"} { // a fixed order, so that a plan means the same each time
			body, ok := bodies[name]
			if !ok {
				continue
			}
			a := &actor{name: name, step: make(chan struct{}), paused: make(chan bool)}
			live = append(live, a)
			go func() {
				<-a.step
				body()
				a.paused <- true
			}()
		}
		var widths []int
		var trace string
		for depth := 0; len(live) > 0; depth++ {
			if depth == len(plan) {
				plan = append(plan, 0)
			}
			widths = append(widths, len(live))
			i := plan[depth]
			current = live[i]
			trace += current.name
			current.step <- struct{}{}
			if <-current.paused {
				live = append(live[:i:i], live[i+1:]...)
			}
			current = nil
		}
		if err := check(); err != nil {
			t.Fatalf("order %s: %v", trace, err)
		}
		plan = plan[:len(widths)]
		for len(plan) > 0 && plan[len(plan)-1] == widths[len(plan)-1]-1 {
			plan = plan[:len(plan)-1]
		}
		if len(plan) == 0 {
			t.Logf("%d interleavings", orders+1)
			require.Greater(t, orders+1, least)
			return
		}
		plan[len(plan)-1]++
	}
}

// An issueLog records the ids that actors got, in order.
type issueLog struct {
	b      *bench
	ids    []int64
	used   map[int64]int64 // the last use that was reported, by worker id
	faults []error
}

// greatest returns the greatest id so far.
func (l *issueLog) greatest() (id int64) {
	for _, one := range l.ids {
		id = max(id, one)
	}
	return id
}

// add records an id, which was asked for when before was the greatest.
func (l *issueLog) add(id, before int64) {
	if id <= before {
		l.faults = append(l.faults, fmt.Errorf("id %d was issued after %d", id, before))
	}
	l.ids = append(l.ids, id)
}

// issue returns the body of an actor that takes batches of the given sizes.
func (l *issueLog) issue(sizes ...int64) func() {
	return func() {
		for _, n := range sizes {
			before := l.greatest()
			v, k, tm := l.b.take(n)
			for i := range k {
				l.add(l.b.id(tm, v+i), before)
			}
		}
	}
}

// check returns the first fault: a repeated id, ids out of order, or an id outside the
// ranges, which are given by worker id, or after the last use that was reported.
func (l *issueLog) check(ranges map[int64]Range) error {
	seen := map[int64]bool{}
	for _, id := range l.ids {
		p, err := l.b.layout.Decode(id)
		if err != nil {
			return err
		}
		ms := p.Time.UnixMilli()
		r := ranges[p.Worker]
		used, ended := l.used[p.Worker]
		switch {
		case seen[id]:
			return fmt.Errorf("id %d twice", id)
		case ms <= r.Floor || ms > r.Ceiling:
			return fmt.Errorf("id of worker %d at %d outside %+v", p.Worker, ms, r)
		case ended && ms > used:
			return fmt.Errorf("id of worker %d at %d after the last use reported, %d", p.Worker, ms, used)
		}
		seen[id] = true
	}
	if len(l.faults) > 0 {
		return l.faults[0]
	}
	return nil
}

// swap explores two actors beside one that adopts the range next in place of old, which prepare has
// begun. Afterwards another id is asked for.
func swap(t *testing.T, least int, prepare func(b *bench, old Range), one, two, after func(l *issueLog) func()) {
	t.Helper()
	explore(t, least, func(b *bench, l *issueLog) (map[string]func(), func() error) {
		old, next := lent(9, t0, time.Minute), lent(2, t0, time.Minute)
		prepare(b, old)
		actors := map[string]func(){"a": one(l), "b": two(l), "c": func() { l.used[9], _ = b.Adopt(next) }}
		return actors, func() error {
			after(l)()
			return l.check(map[int64]Range{9: old, 2: next})
		}
	})
}

// issues are the bodies of actors that take batches of the given sizes.
func issues(sizes ...int64) func(l *issueLog) func() {
	return func(l *issueLog) func() { return l.issue(sizes...) }
}

func TestEveryInterleavingOfIssuersAndASwapper(t *testing.T) {
	swap(t, 5000, func(b *bench, old Range) { b.adopt(t, old) }, issues(1, 1), issues(3), issues(1))
}

func TestEveryInterleavingOfIssuersAndAStop(t *testing.T) {
	explore(t, 2000, func(b *bench, l *issueLog) (map[string]func(), func() error) {
		r := lent(9, t0, time.Minute)
		b.adopt(t, r)
		actors := map[string]func(){
			"a": l.issue(1, 1),
			"b": l.issue(20), // over the end of the tick
			"c": func() { l.used[9] = b.Stop() },
		}
		return actors, func() error {
			if _, k, _ := b.take(1); k > 0 {
				return fmt.Errorf("an id after Stop")
			}
			return l.check(map[int64]Range{9: r})
		}
	})
}

func TestEveryInterleavingOfALateRenewalAStopAndASwap(t *testing.T) {
	explore(t, 100, func(b *bench, l *issueLog) (map[string]func(), func() error) {
		old, next := lent(9, t0, time.Minute), lent(2, t0, time.Minute)
		b.adopt(t, old)
		renewed := lent(9, t0, 2*time.Minute)
		actors := map[string]func(){
			"a": l.issue(1),
			"b": func() { _, _ = b.Adopt(next) },
			"c": func() { b.Extend(old, renewed) },
			"d": func() { b.Stop() },
		}
		return actors, func() error {
			if _, err := b.NextID(); !errors.Is(err, ErrClosed) {
				return fmt.Errorf("revived: %w", err)
			}
			return l.check(map[int64]Range{9: renewed, 2: next})
		}
	})
}

func TestEveryInterleavingOfIssuersADropAndAnAdoption(t *testing.T) {
	for _, end := range []func(*bench) int64{
		func(b *bench) int64 { return b.Drop() },
		func(b *bench) int64 {
			defer b.Resume()
			return b.Stop()
		},
	} {
		dropAndAdopt(t, end)
	}
}

func dropAndAdopt(t *testing.T, end func(*bench) int64) {
	t.Helper()
	explore(t, 1000, func(b *bench, l *issueLog) (map[string]func(), func() error) {
		old, next := lent(9, t0, time.Minute), lent(2, t0, time.Minute)
		b.adopt(t, old)
		renewed := lent(9, t0, 2*time.Minute)
		actors := map[string]func(){
			"a": l.issue(1, 3),
			"b": func() { b.Extend(old, renewed) },
			"c": func() {
				l.used[9] = end(b)
				if _, k, tm := b.take(1); k > 0 && tm.Worker == 9 {
					l.faults = append(l.faults, errors.New("an id of the range that was dropped"))
				}
				_, _ = b.Adopt(next)
			},
		}
		return actors, func() error {
			if b.Extend(old, renewed) {
				return errors.New("the range that was dropped is renewed")
			}
			l.issue(1)()
			return l.check(map[int64]Range{9: renewed, 2: next})
		}
	})
}

// rush returns the body of an actor that issues ids as NextID does, but does not wait.
func (l *issueLog) rush(n int) func() {
	return func() {
		for range n {
			before := l.greatest()
			if id, _ := l.b.Generator.next(0, true); id != 0 {
				l.add(id, before)
			}
		}
	}
}

func TestEveryInterleavingOfARushAndASwapper(t *testing.T) {
	rush := func(l *issueLog) func() { return l.rush(1) }
	swap(t, 5000, func(b *bench, old Range) { b.rushes(t, old) }, rush, issues(3), rush)
}

func TestEveryInterleavingOfARushAndAStop(t *testing.T) {
	explore(t, 100, func(b *bench, l *issueLog) (map[string]func(), func() error) {
		r := lent(9, t0, time.Minute)
		b.rushes(t, r)
		b.last.Store(b.last.Load() | b.seqMask) // a value that is too late lies in another tick
		actors := map[string]func(){
			"a": l.rush(2),
			"b": l.rush(1),
			"c": func() { l.used[9] = b.Stop() },
		}
		return actors, func() error {
			if _, err := b.NextID(); !errors.Is(err, ErrClosed) {
				return fmt.Errorf("an id after Stop: %w", err)
			}
			return l.check(map[int64]Range{9: r})
		}
	})
}

// At the end of the range, no value beyond it becomes an id.
func TestEveryInterleavingOfARushAtTheCeiling(t *testing.T) {
	explore(t, 1000, func(b *bench, l *issueLog) (map[string]func(), func() error) {
		r := lent(9, t0, 3*time.Millisecond)
		b.rushes(t, r)
		b.last.Store(b.term.Load().hi - 1)
		actors := map[string]func(){"a": l.rush(1), "b": l.rush(1), "c": l.rush(1)}
		return actors, func() error {
			if len(l.ids) != 1 {
				return fmt.Errorf("%d ids", len(l.ids))
			}
			l.used[9] = b.Stop()
			return l.check(map[int64]Range{9: r})
		}
	})
}

// The rush moves on to the next tick while the range is taken away.
func TestEveryInterleavingOfATurnAStopAndASwap(t *testing.T) {
	explore(t, 100, func(b *bench, l *issueLog) (map[string]func(), func() error) {
		old, next := lent(9, t0, time.Minute), lent(2, t0, time.Minute)
		b.rushes(t, old)
		b.advance(time.Millisecond)
		b.last.Store(b.last.Load() | (stride - 1)) // the next value reads the clock
		var adopted, stopped int64
		actors := map[string]func(){
			"a": l.rush(1),
			"b": func() { adopted, _ = b.Adopt(next) },
			"c": func() { stopped = b.Stop() },
		}
		return actors, func() error {
			// Adopt or Stop returns the last use, whichever took the range away.
			l.used[9] = max(adopted, stopped)
			l.used[2] = l.used[9]
			return l.check(map[int64]Range{9: old, 2: next})
		}
	})
}

func TestEveryInterleavingOfARushARenewalADropAndAnAdoption(t *testing.T) {
	explore(t, 1000, func(b *bench, l *issueLog) (map[string]func(), func() error) {
		old, next := lent(9, t0, time.Minute), lent(2, t0, time.Minute)
		b.rushes(t, old)
		b.last.Store(b.last.Load() | b.seqMask)
		renewed := lent(9, t0, 2*time.Minute)
		actors := map[string]func(){
			"a": l.rush(1),
			"b": func() { b.Extend(old, renewed) },
			"c": func() {
				l.used[9] = b.Drop()
				if id, _ := b.Generator.next(0, true); id > 0 {
					l.faults = append(l.faults, fmt.Errorf("id %d after the drop", id))
				}
				_, _ = b.Adopt(next)
			},
		}
		return actors, func() error {
			l.rush(1)()
			return l.check(map[int64]Range{9: renewed, 2: next})
		}
	})
}

// If the last use is the last value of its tick, ending the tick moves nothing.
func TestEveryInterleavingAtTheEndOfATick(t *testing.T) {
	swap(t, 100, func(b *bench, old Range) {
		b.adopt(t, old)
		for b.last.Load()&b.seqMask != b.seqMask {
			b.take(1)
		}
	}, issues(1), issues(1), issues(1))
}
