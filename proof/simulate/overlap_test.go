package simulate

import (
	"testing/synctest"
	"time"
)

// An overlap plays calls of several processes at once, statement by statement in an order of the dice.
type overlap struct {
	*search
	waiting []chan struct{} // calls before their next statement
	calls   int             // under way
}

// overlapped lets the statements of calls that begin from now on wait for turn.
func (s *search) overlapped() *overlap {
	o := &overlap{search: s}
	s.link.between = func() {
		if s.within {
			return
		}
		next := make(chan struct{})
		o.waiting = append(o.waiting, next)
		<-next
	}
	return o
}

// begin begins a call.
func (o *overlap) begin(call func()) {
	o.calls++
	go func() {
		defer func() { o.calls-- }()
		call()
	}()
	synctest.Wait()
}

// turn runs the next statement of a call.
func (o *overlap) turn() {
	if len(o.waiting) == 0 { // those under way have lost a race
		time.Sleep(time.Millisecond)
		synctest.Wait()
		return
	}
	i := o.dice.IntN(len(o.waiting))
	next := o.waiting[i]
	o.waiting = append(o.waiting[:i], o.waiting[i+1:]...)
	close(next)
	synctest.Wait()
}

// end runs calls to their ends.
func (o *overlap) end() {
	for o.calls > 0 {
		o.turn()
	}
}

// others has events happen while calls are under way.
func (o *overlap) others() {
	o.within = true
	if o.dice.IntN(3) == 0 {
		o.loss()
	} else {
		o.pass()
	}
	o.within = false
}

// anyCalls lets members borrow, renew and give back at once, in an order of the dice, while records are
// lost and time passes.
func (o *overlap) anyCalls() {
	busy := map[*searcher]bool{}
	for range 240 {
		m := o.members[o.dice.IntN(len(o.members))]
		switch o.dice.IntN(8) {
		case 0:
			o.others()
		case 1, 2, 3:
			if !busy[m] {
				busy[m] = true
				o.begin(func() {
					defer delete(busy, m)
					o.call(m.center, m)
				})
			}
		default:
			if o.calls > 0 {
				o.turn()
			}
		}
		if o.broken != "" {
			break
		}
	}
	o.end()
}

// used has the member with the greatest times use them, loses what it has, and lets others ask.
func (s *search) used(m *searcher) {
	for range 16 {
		s.renew(s.outer, m)
		s.Step(second / 2)
	}
	s.renew(s.outer, m)
	s.forget()
	for range 20 {
		s.renew(s.outer, s.members[2])
		s.Step(second / 5)
		s.renew(s.outer, s.members[0])
	}
}
