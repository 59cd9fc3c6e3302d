package simulate

import (
	"context"
	"errors"
	"time"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

var (
	errOver    = errors.New("simulate: the run is over")
	errNetwork = errors.New("simulate: connection reset")
	errDead    = errors.New("simulate: the process has ended")
)

var known = []struct {
	err  error
	name string
}{
	{errOver, "over"},
	{errNetwork, "network"},
	{errDead, "dead"},
	{context.DeadlineExceeded, "timeout"},
	{context.Canceled, "canceled"},
	{snowflake.ErrLeaseExpired, "expired"},
	{snowflake.ErrExhausted, "exhausted"},
	{snowflake.ErrNotStarted, "not started"},
	{snowflake.ErrStopped, "stopped"},
}

// A wire is the center as one process reaches it: through a network that delays,
// drops, repeats and reorders requests and replies. A request that was sent arrives,
// though its caller may have given up or died.
type wire struct {
	p      *proc
	center lease.Center
}

func (w *wire) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	req.Local = w.p.node.clock.now().UnixMilli()
	g, err := exchange(ctx, w.p, "acquire", func(ctx context.Context) (lease.Grant, error) {
		g, err := w.center.Acquire(ctx, req)
		w.p.answered("acquire", g, nil, err)
		return g, err
	})
	return g, w.p.received(g, err)
}

func (w *wire) Renew(ctx context.Context, g lease.Grant) (lease.Grant, error) {
	renewed, err := exchange(ctx, w.p, "renew", func(ctx context.Context) (lease.Grant, error) {
		renewed, err := w.center.Renew(ctx, g)
		w.p.answered("renew", renewed, &g, err)
		return renewed, err
	})
	return renewed, w.p.received(renewed, err)
}

func (w *wire) Release(ctx context.Context, g lease.Grant, lastUsed int64) error {
	s, p := w.p.s, w.p
	s.mu.Lock()
	if !s.closed {
		p.gave(g)
		s.ledger.stopped(g, lastUsed)
	}
	s.mu.Unlock()
	give := giving{g.Worker, ownerOf(g.Request), max(g.Floor, min(lastUsed, g.Ceiling))}
	_, err := exchange(ctx, p, "release", func(ctx context.Context) (struct{}, error) {
		s.mu.Lock()
		s.ledger.giving = append(s.ledger.giving, give)
		s.mu.Unlock()
		err := w.center.Release(ctx, g, lastUsed)
		p.answered("release", g, nil, err)
		return struct{}{}, err
	})
	if errors.Is(err, errOver) {
		return lease.ErrLost // not to be tried again
	}
	return err
}

// answered notes what the center did.
func (p *proc) answered(verb string, g lease.Grant, former *lease.Grant, err error) {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.result.Calls++
	e := Event{Process: p.id, What: verb, Note: kindOf(err)}
	if err == nil {
		e.Worker, e.Token, e.Floor, e.Ceiling, e.Now = g.Worker, g.Token, g.Floor, g.Ceiling, g.Now
	}
	s.eventLocked(p.node.lane(messageLane), e)
	switch e.Note {
	case "full":
		s.result.Full++
	case "quarantine":
		s.result.Quarantined++
	case "lost":
		s.result.Lost++
	}
	if err != nil {
		return
	}
	if verb == "release" {
		s.result.Releases++
		return
	}
	renewed, other, mine := s.ledger.lent(p.id, g)
	switch {
	case former != nil && !renewed:
		s.result.Swaps++
	case former != nil:
		s.result.Renewals++
	case !renewed:
		s.result.Grants++
	}
	if other != nil {
		s.broken(Overlap, "worker %d is lent for %v and for %v", g.Worker, other, mine)
	}
}

// received notes what the process learns.
func (p *proc) received(g lease.Grant, err error) error {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if err == nil && !p.s.closed {
		p.got(g)
	}
	return err
}

// A copy is one request on its way, and its reply.
type copied struct {
	there, back time.Duration
	lost, mute  bool // the request is, the reply is
}

// A fate is what the network does to a call, drawn when it is sent.
type fate struct {
	copies []copied
	late   bool // sent, though its caller has given up
	reset  bool // a loss shows as an error, not as silence
	reply  bool // a reply that is there together with the end of the context counts
}

// fate draws what will happen to a call.
func (p *proc) fate() fate {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	net := s.plan.Net
	percent := func(n int) bool { return p.net.IntN(100) < n }
	one := func() copied {
		c := copied{there: p.random(net.Delay), back: p.random(net.Delay)}
		if percent(10) { // far behind the others
			c.there *= 5
		}
		if percent(10) {
			c.back *= 5
		}
		c.lost, c.mute = percent(net.Lost+s.storm), percent(net.Lost+s.storm)
		c.there = s.after(p.node.lane(messageLane), c.there)
		return c
	}
	f := fate{late: percent(50), reset: percent(50), reply: percent(50), copies: []copied{one()}}
	if p.node.deaf > 0 {
		p.node.deaf--
		f.copies[0].mute = true
	}
	if _, disk := s.store.(oneHost); percent(net.Double+s.storm) && !disk {
		again := one()
		again.there += s.after(p.node.lane(messageLane), again.there+p.random(s.plan.MaxTTL*3/2)) - again.there
		f.copies = append(f.copies, again)
	}
	return f
}

type answer[T any] struct {
	value T
	err   error
}

// exchange carries a call to the center and its answer back.
func exchange[T any](ctx context.Context, p *proc, verb string, call func(context.Context) (T, error)) (T, error) {
	var none T
	s := p.s
	if deadline, ok := ctx.Deadline(); ok {
		s.take(deadline)
	}
	if err := p.gate(); err != nil {
		return none, err
	}
	f := p.fate()
	if ctx.Err() != nil && !f.late {
		return none, ctx.Err()
	}
	answers := make(chan answer[T], len(f.copies))
	for i, c := range f.copies {
		s.wg.Go(func() {
			time.Sleep(c.there)
			a, ok := carry(ctx, p, verb, c, i == 0, call)
			switch {
			case s.ended(), !ok && !f.reset, ok && c.mute && !f.reset:
				return
			case !ok, c.mute:
				a = answer[T]{err: errNetwork}
			}
			s.sleep(p.node.lane(keeperLane), c.back)
			p.deliver(func() { answers <- a })
		})
	}
	var a answer[T]
	arrived := false
	select {
	case a = <-answers:
		arrived = true
	case <-ctx.Done():
	case <-s.over:
		return none, errOver
	}
	if err := p.gate(); err != nil {
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
		p.event(keeperLane, Event{What: verb, Note: "given up"})
		return none, ctx.Err()
	}
	p.event(keeperLane, Event{What: verb + " answered", Note: kindOf(a.err)})
	return a.value, a.err
}

// carry lets a request be served. It reports whether it arrived.
func carry[T any](ctx context.Context, p *proc, verb string, c copied, original bool, call func(context.Context) (T, error)) (a answer[T], ok bool) {
	s := p.s
	if s.ended() {
		return a, false
	}
	if c.lost || !p.reaches() {
		s.mu.Lock()
		s.result.Dropped++
		s.mu.Unlock()
		p.event(messageLane, Event{What: verb, Note: "request dropped"})
		return a, false
	}
	a.value, a.err = call(context.WithValue(context.WithoutCancel(ctx), passageKey{}, &passage{p: p, caller: ctx, original: original}))
	return a, p.reaches() || s.ended()
}

func (p *proc) reaches() bool {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.node.cut == 0 && p.s.down == 0
}

// deliver gives a process what came for it, when it runs.
func (p *proc) deliver(push func()) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if p.frozen > 0 {
		p.held = append(p.held, push)
		return
	}
	push()
}

// gate holds a process that stands still or is dead at the border to the network.
func (p *proc) gate() error {
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
				s.mu.Lock()
				wait := s.after(p.node.lane(keeperLane), p.random(5*time.Millisecond))
				s.mu.Unlock()
				time.Sleep(wait)
			case <-s.over:
			}
		default:
			return nil
		}
	}
}

type passageKey struct{}

// A passage is a call on the way through its commands.
type passage struct {
	p        *proc
	caller   context.Context //nolint:containedctx // whoever waits for the call
	original bool
	steps    int
}

// Step is one command of a call to the center. If the call was made by a simulated
// process, there is a round trip before each command but the first: others have their
// turn at the center, the caller may stand still, give up or lose the connection
// meanwhile. After it the records are looked at.
func Step(ctx context.Context, command func() error) error {
	if way, ok := ctx.Value(passageKey{}).(interface{ step(func() error) error }); ok {
		return way.step(command)
	}
	return command()
}

func (w *passage) step(command func() error) error {
	s := w.p.s
	if w.steps++; w.steps > 1 {
		if err := w.trip(); err != nil {
			return err
		}
	}
	s.enter()
	defer s.leave()
	return command()
}

// outside is a context of what a step is made of: no steps of their own, such as those
// that open a connection, and not cut short, since a step takes no time.
func outside(ctx context.Context) context.Context {
	return context.WithValue(context.WithoutCancel(ctx), passageKey{}, nil)
}

func (w *passage) trip() error {
	p := w.p
	p.s.mu.Lock()
	wait := p.s.after(p.node.lane(messageLane), p.random(p.s.plan.Net.Delay))
	p.s.mu.Unlock()
	time.Sleep(wait)
	if w.original {
		if err := p.gate(); err != nil {
			return err
		}
		if err := w.caller.Err(); err != nil {
			return err
		}
	}
	switch {
	case p.s.ended():
		return errOver
	case !p.reaches():
		return errNetwork
	}
	return nil
}
