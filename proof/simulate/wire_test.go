package simulate

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/redisnumbers"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers"
)

var (
	errOver    = errors.New("simulate: the run is over")
	errNetwork = errors.New("simulate: connection reset")
)

// A way is the path of a process's calls to a store and back. Its network delays,
// drops, repeats and reorders requests and replies. A request that is not dropped
// arrives even if its caller has given up or died.
type way struct {
	dice        *rand.Rand // guarded by world.mu
	store       int        // of world.stores
	there, back int        // lanes
}

// random returns a time up to d. The caller holds world.mu.
func (w way) random(d time.Duration) time.Duration {
	return time.Duration(w.dice.Int64N(int64(max(d, 1))))
}

// A message is one request and its reply.
type message struct {
	there, back time.Duration
	lost, mute  bool // the request is lost, the reply is lost
}

// A fate is what the network does to a call, drawn when it is sent.
type fate struct {
	copies []message
	late   bool // sent, although its caller has given up
	reset  bool // a loss shows as an error, not as silence
	reply  bool // a reply that comes together with the end of the context counts
}

// fate draws what will happen to a call.
func (p *process) fate(way way) fate {
	w := p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	net := w.plan.Net
	percent := func(n int) bool { return way.dice.IntN(100) < n }
	one := func() message {
		m := message{there: way.random(net.Delay), back: way.random(net.Delay)}
		if percent(10) { // far behind the others
			m.there *= 5
		}
		if percent(10) {
			m.back *= 5
		}
		m.lost, m.mute = percent(net.Lost+w.storm), percent(net.Lost+w.storm)
		m.there = p.travel(way.there, m.there)
		return m
	}
	f := fate{late: percent(50), reset: percent(50), reply: percent(50), copies: []message{one()}}
	if p.node.deaf > 0 {
		p.node.deaf--
		f.copies[0].mute = true
	}
	if percent(net.Double+w.storm) && !w.once() {
		again := one()
		again.there = p.travel(way.there, again.there+way.random(w.plan.MaxTTL*3/2))
		f.copies = append(f.copies, again)
	}
	return f
}

// once reports whether no request arrives twice.
func (w *world) once() bool {
	_, near := w.stores[0].(nearby)
	return near
}

type answer[T any] struct {
	value T
	err   error
}

// exchange carries a call to a store and its answer back.
func exchange[T any](ctx context.Context, p *process, way way, verb string, call func(context.Context) (T, error)) (T, error) {
	var none T
	w := p.w
	if deadline, ok := ctx.Deadline(); ok {
		w.take(deadline)
	}
	p.align(way)
	if err := p.border(); err != nil {
		return none, err
	}
	f := p.fate(way)
	if ctx.Err() != nil && !f.late {
		return none, ctx.Err()
	}
	answers := make(chan answer[T], len(f.copies))
	for i, m := range f.copies {
		w.wg.Go(func() {
			time.Sleep(m.there)
			a, ok := carry(ctx, p, way, verb, m, i == 0, call)
			switch {
			case w.ended(), !ok && !f.reset, ok && m.mute && !f.reset:
				return
			case !ok, m.mute:
				a = answer[T]{err: errNetwork}
			}
			time.Sleep(p.travel(way.back, m.back))
			p.deliver(func() { answers <- a })
		})
	}
	var a answer[T]
	arrived := false
	select {
	case a = <-answers:
		arrived = true
	case <-ctx.Done():
	case <-w.over:
		return none, errOver
	}
	if err := p.border(); err != nil {
		return none, err
	}
	if !arrived && f.reply {
		select {
		case a = <-answers:
			arrived = true
		default:
		}
	}
	if !arrived {
		p.event(way.back, Event{What: verb, Note: "given up"})
		return none, ctx.Err()
	}
	p.event(way.back, Event{What: verb + " answered", Note: kindOf(a.err)})
	return a.value, a.err
}

// carry has a request served, and reports whether it arrived.
func carry[T any](ctx context.Context, p *process, way way, verb string, m message, original bool, call func(context.Context) (T, error)) (a answer[T], ok bool) {
	w := p.w
	if w.ended() {
		return a, false
	}
	if m.lost || !p.reaches(way) {
		w.count(&w.result.Dropped, 1)
		p.event(way.there, Event{What: verb, Note: "request dropped"})
		return a, false
	}
	a.value, a.err = call(context.WithValue(context.WithoutCancel(ctx), passageKey{}, &passage{p: p, way: way, caller: ctx, original: original}))
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.result.Calls++
	}
	return a, w.ended() || p.reachesLocked(way)
}

func (p *process) reaches(way way) bool {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	return p.reachesLocked(way)
}

func (p *process) reachesLocked(way way) bool { return p.node.cut == 0 && p.w.down[way.store] == 0 }

// deliver hands a process what arrived for it, once it runs.
func (p *process) deliver(push func()) {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	if p.frozen > 0 {
		p.held = append(p.held, push)
		return
	}
	push()
}

// border holds back a process that is frozen or dead. After a freeze it goes on when thaw says, which
// draws in the order of arrival: goroutines that woke together would draw as the runtime orders them.
func (p *process) border() error {
	for {
		over, thawed := p.stands()
		switch {
		case over:
			return errOver
		case thawed == nil:
			return nil
		}
		woken := make(chan struct{})
		p.deliver(func() { close(woken) })
		select {
		case <-woken:
		case <-p.w.over:
		}
	}
}

type passageKey struct{}

// A passage is a call under way, with its commands.
type passage struct {
	p        *process
	way      way
	caller   context.Context // who waits for the call
	original bool
	steps    int
}

// Step carries out one command of a call to a store. For a simulated process, each command
// but the first takes a round trip. Meanwhile others use the store, and the caller may
// freeze, give up or lose its connection. After the step the records are checked.
func Step(ctx context.Context, command func() error) error {
	if way, ok := ctx.Value(passageKey{}).(*passage); ok {
		return way.step(command)
	}
	return command()
}

func (w *passage) step(command func() error) error {
	if w.steps++; w.steps > 1 {
		if err := w.trip(); err != nil {
			return err
		}
	}
	w.p.w.enter()
	defer w.p.w.leave()
	return command()
}

// inside returns a context for the parts of a step. They are no steps of their own, such
// as commands that open a connection. They are not cut short, since a step takes no time.
func inside(ctx context.Context) context.Context {
	return context.WithValue(context.WithoutCancel(ctx), passageKey{}, true)
}

func (w *passage) trip() error {
	p := w.p
	p.w.mu.Lock()
	wait := p.travel(w.way.there, w.way.random(p.w.plan.Net.Delay))
	p.w.mu.Unlock()
	time.Sleep(wait)
	if w.original {
		if err := p.border(); err != nil {
			return err
		}
		if err := w.caller.Err(); err != nil {
			return err
		}
	}
	switch {
	case p.w.ended():
		return errOver
	case !p.reaches(w.way):
		return errNetwork
	}
	return nil
}

// travel returns how long d takes on the network. With numbers it ends soon after a
// line of the grid, at a unique moment, so that no random wait of the product that
// starts there ends together with anything else.
func (p *process) travel(lane int, d time.Duration) time.Duration {
	w := p.w
	if grid := w.plan.grid(); grid > 0 {
		up := func(d time.Duration) time.Duration { return (d + grid - 1) / grid * grid }
		at := up(w.now()) + up(d)
		d = at - w.now() + time.Duration(rand.NewPCG(uint64(at), uint64(p.id)<<8|uint64(lane)).Uint64()%500_000)
	}
	return w.after(p.node.lane(lane), d)
}

// align makes the start of a call repeatable.
func (p *process) align(way way) {
	if p.w.plan.grid() > 0 {
		time.Sleep(p.travel(way.there, 0))
	}
}

// kindOf names an error without the parts that differ between runs, such as owners.
func kindOf(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.As(err, new(*lease.NoFreeWorkerError)):
		return "full"
	case errors.As(err, new(*lease.QuarantineError)):
		return "quarantine"
	case errors.As(err, new(*lease.MismatchError)):
		return "mismatch"
	case errors.As(err, new(*lease.ClockError)):
		return "clock"
	}
	for _, kind := range []struct {
		err  error
		name string
	}{
		{lease.ErrLost, "lost"},
		{numbers.ErrUnknown, "unknown"},
		{redisnumbers.ErrChanged, "changed"},
		{errOver, "over"},
		{errNetwork, "network"},
		{context.DeadlineExceeded, "timeout"},
		{context.Canceled, "given up"},
		{generator.ErrLeaseExpired, "expired"},
		{generator.ErrExhausted, "exhausted"},
		{generator.ErrNotStarted, "not started"},
		{generator.ErrClosed, "stopped"},
	} {
		if errors.Is(err, kind.err) {
			return kind.name
		}
	}
	return "other: " + err.Error()
}
