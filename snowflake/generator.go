package snowflake

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Generator issues ids. All methods are safe for concurrent use; NextID allocates
// nothing, takes no lock and does no I/O.
//
//	 63   62 ........ 22 21 .. 17 16 ....... 0
//	+---+---------------+--------+------------+
//	| 0 |     time      | worker |  sequence  |   the default layout
//	+---+---------------+--------+------------+
//
// Ids rise: each is greater than all that were issued before it began, in this
// process. Time never goes back in them, whatever clocks do: the generator reads no
// wall clock, only the center's time of the last answer plus the monotonic time
// since. A burst may run ahead of that by MaxAhead. A range that begins ahead of the
// clock is used from its beginning on: see lease.Request.Ahead. After the center's clock was set
// back, ids go on from where they were, at a rate at which what is left of the range
// lasts until the clock has caught up. At high rates one id in 16 reads the clock, and
// ids are up to two ticks old.
//
// Most callers want NextID. NextIDs fills a slice by one reservation, which is what
// bulk inserts want. NextIDWait waits where NextID gives up.
//
// One word, tick<<SequenceBits | sequence, holds the last use; each issue is one
// compare-and-swap of it. The order of loads and stores is part of the proof of
// uniqueness: see take, Adopt, Extend and Stop.
type Generator struct {
	layout  Layout
	unit    int64 // ns
	seqBits uint
	tsShift uint
	seqMask int64
	spread  int64
	ahead   int64 // ticks

	base  time.Time
	clock func() time.Duration // nil: since base
	at    func(point)          // nil: nowhere

	term    atomic.Pointer[term]
	skipped atomic.Int64 // values of last that no id was made of
	issued  atomic.Int64 // the greatest count that Issued has answered
	waits   atomic.Int64 // times that a caller has slept

	_    [64]byte     // what each id writes shares no cache line with what it reads
	last atomic.Int64 // tick<<seqBits | sequence of the last use
	_    [64]byte
}

// A point is one of those between which another goroutine can run; tests stop there.
type point int

const (
	loadedLast point = iota
	loadedTerm
	markedSwap
	raisedSwap
	checkedExtend
	markedStop
)

// A Range lends a worker id for ids whose time lies in (Floor, Ceiling].
type Range struct {
	Worker         int64
	Floor, Ceiling int64         // Unix milliseconds of the center's clock
	Now            int64         // the center's clock when it answered, Unix milliseconds
	At             time.Duration // Generator.Elapsed when the answer arrived
}

type state uint8

const (
	notStarted state = iota
	held
	swapping
	stopped
)

// A term is what a generator may issue. It is immutable but for ended and rush.
type term struct {
	Range
	state  state
	lo, hi int64 // the values of last that lie within the range; hi < 0: none
	prefix int64 // worker and business number in their places
	raised int64 // what last is until the first id
	first  int64 // the end of that, at random: many processes make one id each
	pacer
	ended chan struct{}
	rush  atomic.Int32 // calm, rushing or easing: see Generator.rush
}

// none returns a term without a range.
func none(s state, p pacer) *term {
	return &term{state: s, hi: -1, pacer: p, ended: make(chan struct{})}
}

// DefaultMaxAhead is how far a burst may run ahead of the clock by default.
const DefaultMaxAhead = time.Second

// Option sets a knob of NewGenerator.
type Option func(*Generator) error

// WithMaxAhead sets how far a burst may run ahead of the clock: at least two units
// of time of the layout, at most an hour. Default: DefaultMaxAhead, or two units
// where that is more.
func WithMaxAhead(d time.Duration) Option {
	return func(g *Generator) error {
		if d < time.Duration(2*g.unit) || d > time.Hour {
			return fmt.Errorf("snowflake: MaxAhead %v is not 2 time units (%v) to 1h", d, time.Duration(2*g.unit))
		}
		g.ahead = int64(d) / g.unit
		return nil
	}
}

// WithClock sets what tells the time since some start, for tests and simulations. It
// is called by every NextID, also at high rates, at times by many at once. A clock that is wrong makes
// ids that are too early or too late for the time of their making; none is issued
// twice and none lies outside the range, whatever it tells. Default: Go's monotonic
// clock.
func WithClock(sinceStart func() time.Duration) Option {
	return func(g *Generator) error {
		if sinceStart == nil {
			return errors.New("snowflake: the clock is nil")
		}
		g.clock = sinceStart
		return nil
	}
}

// NewGenerator returns a generator without a worker id: it issues from the first
// Adopt on. It refuses a layout that is not valid or that ends within a year.
func NewGenerator(l Layout, opts ...Option) (*Generator, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	if err := l.CheckTime(time.Now()); err != nil {
		return nil, err
	}
	l = l.WithDefaults()
	g := &Generator{
		layout:  l,
		unit:    int64(l.TimeUnit),
		seqBits: uint(l.SequenceBits),
		tsShift: uint(l.WorkerBits + l.BusinessBits + l.SequenceBits),
		seqMask: l.PerTick() - 1,
		// Ids of a low rate must not all end alike (even, zero): they are often
		// sharded by their last bits.
		spread: 1<<max(0, min(8, int(l.SequenceBits)-2)) - 1,
		base:   time.Now(),
	}
	g.ahead = max(2, int64(DefaultMaxAhead)/g.unit)
	for _, o := range opts {
		if err := o(g); err != nil {
			return nil, err
		}
	}
	g.term.Store(none(notStarted, pacer{}))
	return g, nil
}

// Layout returns the generator's layout, its defaults filled in.
func (g *Generator) Layout() Layout { return g.layout }

// MaxAhead returns how far a burst may run ahead of the clock.
func (g *Generator) MaxAhead() time.Duration { return time.Duration(g.ahead * g.unit) }

// Elapsed returns the monotonic time since the generator was made, for Range.At.
func (g *Generator) Elapsed() time.Duration { return time.Duration(g.mono()) }

func (g *Generator) mono() int64 {
	if g.clock != nil {
		return int64(g.clock())
	}
	return int64(time.Since(g.base))
}

func (g *Generator) pause(p point) {
	if g.at != nil {
		g.at(p)
	}
}

// NextID returns the next id. Where a burst has used up its lead it sleeps for at
// most one tick.
//
// Errors: ErrNotStarted, ErrLeaseExpired, ErrStopped, ErrExhausted.
func (g *Generator) NextID() (int64, error) { return g.next(0) }

// NextIDWait returns the next id and waits for it as long as ctx: for the lead of a
// burst, and for the renewal of a lease that has expired.
//
// Errors: ErrNotStarted and ErrStopped at once; when ctx ends its error together
// with ErrLeaseExpired or ErrExhausted.
func (g *Generator) NextIDWait(ctx context.Context) (int64, error) {
	var dst [1]int64
	err := g.NextIDs(ctx, dst[:])
	return dst[0], err
}

// NextIDs fills dst with rising ids by one reservation; a batch of more ids than
// the lead holds takes several. It waits as NextIDWait does. On an error dst is all
// zero; the ids that were reserved are never issued.
func (g *Generator) NextIDs(ctx context.Context, dst []int64) error {
	for rest := dst; len(rest) > 0; {
		v, n, t := g.take(int64(len(rest)))
		if n > 0 {
			g.fill(t, v, rest[:n])
			rest = rest[n:]
			continue
		}
		if err := g.await(ctx, t, v); err != nil {
			clear(dst)
			return err
		}
	}
	return nil
}

// take reserves up to want values of last and returns the first of them and their
// number. Where the number is 0 the term says why, and v is the value that it did
// not allow.
func (g *Generator) take(want int64) (v, n int64, t *term) {
	mono := g.mono() // once: a time that is a little old makes no id unsafe
	for {
		// last before term: in the other order an issuer that sleeps between the
		// two can put the former worker id into a value that the next term's holder
		// uses too.
		last := g.last.Load()
		g.pause(loadedLast)
		t = g.term.Load()
		g.pause(loadedTerm)
		tick := g.tick(t, mono)
		low := (last + 1) & g.spread
		if last == t.raised {
			low = t.first
		}
		v = max(tick<<(g.seqBits&63)|low, last+1)
		lead := tick
		if mono < t.level {
			lead = g.tick(t, t.lead(mono))
		}
		end := min(v+want-1, t.hi, (lead+g.ahead)<<(g.seqBits&63)|g.seqMask)
		if end < v {
			return v, 0, t
		}
		skip := v - last - 1
		if skip > 0 {
			g.skipped.Add(skip)
		}
		if g.last.CompareAndSwap(last, end) {
			if skip>>(g.seqBits&63) > 1 && t.rush.Load() == rushing { // the last id is ticks old
				t.rush.CompareAndSwap(rushing, easing)
			}
			return v, end - v + 1, t
		}
		if skip > 0 {
			g.skipped.Add(-skip)
		}
	}
}

func (g *Generator) id(t *term, v int64) int64 {
	return v>>(g.seqBits&63)<<(g.tsShift&63) | t.prefix | v&g.seqMask
}

func (g *Generator) fill(t *term, v int64, dst []int64) {
	for len(dst) > 0 {
		n := min(int64(len(dst)), g.seqMask-v&g.seqMask+1) // to the end of the tick
		rise(dst[:n], g.id(t, v))
		v, dst = v+n, dst[n:]
	}
}

// rise fills dst with id and what follows it: four numbers a turn of the loop, which
// takes two thirds of the time of one.
func rise(dst []int64, id int64) {
	for ; len(dst) >= 4; dst, id = dst[4:], id+4 {
		four := (*[4]int64)(dst)
		four[0], four[1], four[2], four[3] = id, id+1, id+2, id+3
	}
	for i := range dst {
		dst[i] = id + int64(i)
	}
}

// made returns how many ids were made, or less.
func (g *Generator) made() int64 {
	n := g.last.Load()
	return n - g.skipped.Load() // after last: what is skipped meanwhile makes n less, not more
}

// Issued returns how many ids were made, at no cost to who makes them. It never
// falls, and is never above the truth.
func (g *Generator) Issued() int64 {
	n := g.made()
	for {
		seen := g.issued.Load()
		if n <= seen {
			return seen
		}
		if g.issued.CompareAndSwap(seen, n) {
			return n
		}
	}
}

// Waits returns how often a caller has had to wait: for the lead of a burst, or for a
// lease that had expired.
func (g *Generator) Waits() int64 { return g.waits.Load() }
