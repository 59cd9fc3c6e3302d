package simulate

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/counter"
	"github.com/snowlease/snowlease/internal/redisnumbers"
	"github.com/snowlease/snowlease/internal/sqlnumbers"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers"
)

// Numbers is the subject of a run whose processes take numbers from a Source. The zero
// value is the product.
type Numbers struct {
	Script  func(lua string) string               // replaces a script that is sent to Redis
	NoReset bool                                  // a copied process does not call Reset
	Resume  func(given int64, issued int64) int64 // the greatest number in use, as an administrator determines it
}

// numbers is the state of a world with numbers.
type counted struct {
	Numbers
	NumberPlan
	w     *world
	redis *Redis
	sql   *SQLite // of a dispenser
	top   int64   // greatest number issued
	given int64   // greatest number that a store gave
}

// open makes what the source needs.
func (s Numbers) open(w *world) (_ subject, err error) {
	n := &counted{Numbers: s, NumberPlan: *w.plan.Numbers, w: w}
	if n.redis, err = newRedis(); err != nil {
		return nil, err
	}
	w.stores = append(w.stores, n.redis)
	if n.Source == Dispenser {
		if n.sql, err = newSQLite(); err != nil {
			return nil, err
		}
		w.stores = append(w.stores, n.sql)
		center, err := dbseq.New(n.sql.pool, dbseq.SQLite)
		if err != nil {
			return nil, err
		}
		return n, center.Numbers().(*sqlnumbers.Store).Create(context.Background(), namespace+"/other", 1) // creates the table
	}
	if n.Source == RedisSegments {
		return n, n.administer(func(r *redisnumbers.Store) error { return r.Create(context.Background(), namespace+"/"+namespace, 1) })
	}
	return n, nil
}

func (n *counted) administer(do func(*redisnumbers.Store) error) error {
	store, err := redisnumbers.New(n.redis.direct)
	if err != nil {
		return err
	}
	return do(store)
}

func (n *counted) look(bool) {}

func (n *counted) lost() {}

func (n *counted) room() int { return math.MaxInt }

func (n *counted) healed() {
	if n.Source == RedisSegments {
		n.resume()
	}
}

func (n *counted) follow(at func(time.Duration, func())) {
	for _, f := range n.w.plan.Faults {
		if f.Kind.loses() && n.Source == RedisSegments {
			end := f.At
			if f.Kind == Restart {
				end += f.For
			}
			at(end+n.Noticed, n.resume)
		}
	}
}

// resume is what an administrator of a redisnumbers.Store does after a loss.
func (n *counted) resume() {
	n.w.enter()
	defer n.w.leave()
	n.w.mu.Lock()
	given := n.given
	if n.Resume != nil {
		given = n.Resume(n.given, n.top)
	}
	n.w.mu.Unlock()
	n.w.event(faultLane, Event{What: "resumed above", First: given, Last: given, N: 1})
	n.w.fail(n.administer(func(r *redisnumbers.Store) error {
		ctx := context.Background()
		err := r.Advance(ctx, namespace+"/"+namespace, given)
		if errors.Is(err, numbers.ErrUnknown) {
			return r.Create(ctx, namespace+"/"+namespace, given+1)
		}
		return err
	}))
}

// gave notes the greatest number that a store gave.
func (n *counted) gave(last int64) {
	n.w.mu.Lock()
	defer n.w.mu.Unlock()
	n.given = max(n.given, last)
}

func (n *counted) seqBits() uint { return uint(n.Sequence.Layout.WithDefaults().SequenceBits) }

// value returns the position of an id in its sequence.
func (n *counted) value(id int64) int64 {
	l := n.Sequence.Layout.WithDefaults()
	return id>>(l.WorkerBits+l.BusinessBits+l.SequenceBits)<<l.SequenceBits | id&(l.PerTick()-1)
}

// A reservation is a range of a sequence that Redis gave.
type reservation struct {
	first, n int64
	call     int // which call of its process
	landed   time.Duration
}

// An issuer is a process with a record of what its source gave it. Its fields are
// guarded by world.mu.
type issuer struct {
	*process
	n            *counted
	from         numberSource
	client       *redis.Client
	sql, install way

	calls       int // made so far
	copiedAfter int // calls made when the process was copied
	reserved    []reservation
}

func (n *counted) program(p *process) (program, error) {
	b := &issuer{process: p, n: n}
	b.sql = way{dice: p.dice(4), store: len(n.w.stores) - 1, there: sqlRequestLane, back: sqlReplyLane}
	b.install = way{dice: p.dice(5), there: installLane, back: installLane}
	b.client = n.redis.connect(0)
	b.client.AddHook(hook(b.commands))
	var err error
	b.from, err = b.source()
	return b, err
}

// Start tries until the source opens.
func (b *issuer) Start(ctx context.Context) error {
	for {
		opening, cancel := b.within(ctx, 5*time.Second, 0)
		err := b.from.open(opening)
		cancel()
		if err == nil || b.n.Source == Sequence && errors.As(err, new(*lease.QuarantineError)) {
			return nil
		}
		if !b.awake() {
			return errors.Join(err, b.Stop(ctx))
		}
		b.event(useLane, Event{What: "cannot start", Note: kindOf(err)})
		b.w.sleep(b.node.lane(useLane), 200*time.Millisecond)
	}
}

// Stop frees the resources of the process. After a crash it runs at the end of the run.
func (b *issuer) Stop(context.Context) error {
	b.from.close()
	return b.client.Close()
}

func (b *issuer) Holding() bool { return true }

// within ends just before a line of the grid and whatever happens on it. Outer and
// inner contexts, and those of different processes, end at different moments.
func (b *issuer) within(ctx context.Context, d time.Duration, inner int) (context.Context, context.CancelFunc) {
	now, grid := b.w.now(), b.w.plan.grid()
	line := (now + d) / grid * grid
	return context.WithTimeout(ctx, line-time.Duration(2*b.id+inner)*time.Microsecond-now)
}

// use requests numbers and checks them.
func (b *issuer) use() {
	many, copied := b.wanted()
	if copied {
		b.copy()
	}
	if many++; b.chance.IntN(5) == 0 {
		many += b.chance.IntN(20)
	}
	w := b.w
	w.mu.Lock()
	before := b.n.top
	w.mu.Unlock()
	ctx, cancel := b.within(b.ctx, 3*time.Second, 0)
	defer cancel()
	dst := make([]int64, many)
	err := b.from.NextIDs(ctx, dst)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || b.dead {
		return
	}
	if err != nil {
		b.refused(err)
		return
	}
	b.issued(dst)
	for _, id := range dst {
		if b.n.Strict && id <= before {
			w.broken(Disorder, "process %d issued %d, which it asked for after %d", b.id, id, before)
		}
		b.n.top = max(b.n.top, id)
		if b.n.Source == Sequence {
			b.check(id, many)
		}
	}
}

// copy notes that the process has a twin with the same memory; the process learns of it too.
func (b *issuer) copy() {
	if s, ok := b.from.(sequence); ok && !b.n.NoReset {
		s.Reset()
	}
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	b.copiedAfter = b.calls
	b.w.result.Copies++
	b.eventLocked(useLane, Event{What: "was copied"})
}

// got notes that a reservation reached the process.
func (b *issuer) got(r reservation, call int) {
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	r.call, r.landed = call, b.w.now()
	b.reserved = append(b.reserved, r)
}

// check looks for the reservation of an id. The caller holds world.mu.
func (b *issuer) check(id int64, n int) {
	v := b.n.value(id)
	for i := len(b.reserved) - 1; i >= 0; i-- {
		r := b.reserved[i]
		if v < r.first || v >= r.first+r.n {
			continue
		}
		if r.call <= b.copiedAfter {
			b.w.broken(Foreign, "process %d issued %d, which its copy has too", b.id, id)
		}
		if age := b.w.now() - r.landed; n == 1 && age > b.n.Sequence.MaxAge {
			b.w.broken(Aged, "process %d issued %d after %v", b.id, id, age)
		}
		return
	}
	b.w.broken(Foreign, "process %d issued %d, which it was not given", b.id, id)
}

// A numberSource is what an issuer takes numbers from.
type numberSource interface {
	open(ctx context.Context) error
	NextIDs(ctx context.Context, dst []int64) error
	close()
}

// source makes the product.
func (b *issuer) source() (numberSource, error) {
	n := b.n
	if n.Source == Sequence {
		s, err := counter.New(shared{b.client}, n.Sequence)
		return sequence{s}, err
	}
	s := &segments{cfg: n.Segments}
	var store numbers.Store
	var err error
	if n.Source == Dispenser {
		s.dispenser, err = redisnumbers.NewDispenser(shared{b.client}, b.database(), n.Segments)
		store = s.dispenser
	} else {
		store, err = redisnumbers.New(shared{b.client})
	}
	s.store = &patient{Store: store, b: b}
	return s, err
}

type sequence struct{ *counter.Counter }

func (s sequence) open(ctx context.Context) error { return s.Start(ctx) }
func (s sequence) close()                         { _ = s.Close() }

// segments issues through a numbers.Segment.
type segments struct {
	*numbers.Segment
	cfg       numbers.SegmentConfig
	store     numbers.Store
	dispenser *redisnumbers.Dispenser
}

func (s *segments) open(ctx context.Context) (err error) {
	s.Segment, err = numbers.OpenSegment(ctx, s.store, s.cfg)
	return err
}

func (s *segments) close() {
	if s.Segment != nil {
		_ = s.Close() // always nil
	}
	if s.dispenser != nil {
		_ = s.dispenser.Close()
	}
}
