package simulate

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/history"
	"github.com/snowlease/snowlease/redisseq/counter"
	redissegments "github.com/snowlease/snowlease/redisseq/segments"
	"github.com/snowlease/snowlease/segment"
)

// A NumberSubject is what a run of numbers puts to the test. The zero value is the
// product.
type NumberSubject struct {
	Script  func(lua string) string               // what Redis is sent in place of a script
	SQL     func(statement string) string         // what the database is sent in place of a statement
	Store   func(*SQLite, int) segment.Store      // in place of dbseq.Segments, of a process
	NoReset bool                                  // who was copied does not say so
	Resume  func(given int64, issued int64) int64 // the greatest number in use, as an administrator finds it
}

// numbers is what runs on a node.
type numbers interface {
	open(ctx context.Context) error
	NextIDs(ctx context.Context, dst []int64) error
	reset()
	close()
}

// make makes what runs in a process.
func (p *issuing) make() (numbers, error) {
	s := p.s
	if s.plan.Source == Sequence {
		seq, err := counter.New(p.client, s.plan.Sequence)
		return sequence{seq}, err
	}
	if s.plan.Source == Past {
		store, err := p.sqlSegments()
		if err != nil {
			return nil, err
		}
		cfg := s.plan.Past
		if s.now() >= s.plan.Raise {
			cfg = s.plan.raised()
		}
		ids, err := history.New(cfg, store)
		return &past{Issuer: ids, cfg: cfg, p: p, n: map[int64]int64{}}, err
	}
	n := &segments{p: p}
	var store segment.Store
	var err error
	switch s.plan.Source {
	case RedisSegments:
		store, err = redissegments.New(p.client)
	case Dispenser:
		if store, err = p.sqlSegments(); err == nil {
			n.dispenser, err = redissegments.NewDispenser(p.client, store, s.plan.Segments)
			store = n.dispenser
		}
	default:
		store, err = p.sqlSegments()
	}
	n.store = &patient{Store: store, p: p}
	return n, err
}

func (p *issuing) sqlSegments() (segment.Store, error) {
	if p.s.subject.Store != nil {
		return beyond{p.s.subject.Store(p.s.sql, p.id), p}, nil
	}
	store, err := dbseq.NewSegments(p.s.sql.DB, dbseq.WithPool(p.s.sql.pool))
	return beyond{store, p}, err
}

type sequence struct{ *counter.Counter }

func (s sequence) open(ctx context.Context) error { return s.Start(ctx) }
func (s sequence) reset()                         { s.Reset() }
func (s sequence) close()                         { s.Close() }

// segments issues through a segment.Issuer.
type segments struct {
	*segment.Issuer
	p         *issuing
	store     segment.Store
	dispenser *redissegments.Dispenser
}

func (n *segments) open(ctx context.Context) (err error) {
	n.Issuer, err = segment.Open(ctx, n.p.s.plan.Segments, n.store)
	return err
}

func (n *segments) reset() {}

func (n *segments) close() {
	if n.Issuer != nil {
		_ = n.Close() // always nil
	}
	if n.dispenser != nil {
		_ = n.dispenser.Close()
	}
}

// patient takes the chance out of when an Issuer tries again, which no seed could
// repeat: it lets a call go on only when the latest moment for it has come.
type patient struct {
	segment.Store
	p     *issuing
	delay time.Duration
	next  time.Duration
}

func (w *patient) Reserve(ctx context.Context, r segment.Request) (segment.Range, error) {
	s := w.p.s
	if wait := w.next - s.now(); wait > 0 {
		if err := pauseFor(ctx, s.after(w.p.lane(retryLane), wait)); err != nil {
			return segment.Range{}, err
		}
	}
	ctx, cancel := w.p.within(ctx, 1900*time.Millisecond, 1) // before the Issuer's own deadline
	defer cancel()
	got, err := w.Store.Reserve(ctx, r)
	if err == nil || s.plan.Strict { // there is no chance in how callers try again
		w.delay, w.next = 0, 0
		return got, err
	}
	w.delay = min(max(2*w.delay, 50*time.Millisecond), 2*time.Second)
	w.next = s.now() + w.delay*3/2
	return got, err
}

// beyond is a SQL store on the other side of the network.
type beyond struct {
	segment.Store
	p *issuing
}

func (b beyond) Reserve(ctx context.Context, r segment.Request) (got segment.Range, err error) {
	reserve := func(ctx context.Context) error {
		got, err = b.Store.Reserve(ctx, r)
		if err == nil && b.p.s.plan.Source == SQLSegments {
			b.p.s.gave(got.Last)
		}
		return err
	}
	err = b.p.cross(ctx, crossing{name: "sql", dice: b.p.sql, there: sqlRequestLane, back: sqlReplyLane, serve: reserve, again: func(ctx context.Context) {
		_, _ = b.Store.Reserve(ctx, r) // what it reserves is nobody's
	}})
	if err != nil {
		return segment.Range{}, err
	}
	return got, nil
}

// steps lets the statements of a call be a round trip apart.
type steps struct {
	p     *issuing
	taken int
}

func (w *steps) step(command func() error) error {
	s := w.p.s
	if w.taken++; w.taken > 1 {
		s.sleep(w.p.lane(sqlRequestLane), s.grid)
		if s.ended() {
			return errOver
		}
	}
	s.enter()
	defer s.leave()
	return command()
}

// commands puts a client on the other side of the network.
type commands struct{ p *issuing }

func (commands) DialHook(next redis.DialHook) redis.DialHook { return next }
func (commands) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h commands) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if ctx.Value(passageKey{}) != nil { // what opens a connection
			return next(ctx, cmd)
		}
		args := cmd.Args()
		if change := h.p.s.subject.Script; change != nil {
			switch cmd.Name() {
			case "evalsha": // of the product's: it is not known, and sent as a whole then
				return next(context.WithValue(context.WithoutCancel(ctx), passageKey{}, &steps{p: h.p}), cmd)
			case "eval":
				args[1] = change(args[1].(string))
			}
		}
		if isLook(args) {
			cmd.SetErr(errNetwork)
			return errNetwork
		}
		var sent *reservation
		c := crossing{
			name: "redis", redis: true, dice: h.p.net, there: requestLane, back: replyLane,
			serve: func(ctx context.Context) error {
				h.p.s.enter()
				defer h.p.s.leave()
				err := next(ctx, cmd)
				sent = h.p.s.reserved(cmd)
				return err
			},
			again: func(ctx context.Context) {
				h.p.s.enter()
				defer h.p.s.leave()
				_ = h.p.s.redis.direct.Do(ctx, args...).Err() // what it reserves is nobody's
			},
			arrived: func(call int) { h.p.got(sent, call) },
		}
		if isInstall(args) {
			c.dice, c.there, c.back = h.p.install, installLane, installLane
		}
		err := h.p.cross(ctx, c)
		if err != nil {
			cmd.SetErr(err)
		}
		return err
	}
}

// isLook: a Sequence asks only how Redis is. It does so at times that no seed could
// repeat, and what it learns keeps no id from anybody: no such call gets through.
func isLook(args []any) bool {
	if len(args) < 10 || args[5] != int64(0) {
		return false
	}
	return args[9] == int64(0) // without a caller's clock, unlike that of a start
}

// isInstall: a Dispenser calls, in the background.
func isInstall(args []any) bool {
	if len(args) < 6 {
		return false
	}
	_, is := args[5].(string)
	return is
}

// pauseFor waits for d, or until ctx ends.
func pauseFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
