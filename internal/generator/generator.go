package generator

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/snowlease/snowlease/snowflake"
)

// Generator issues ids. All methods are safe for concurrent use. NextID does not
// allocate, lock or do I/O. The zero Generator is not usable: call New.
//
//	 63   62 ........ 22 21 .. 17 16 ....... 0
//	+---+---------------+--------+------------+
//	| 0 |     time      | worker |  sequence  |   the default layout
//	+---+---------------+--------+------------+
//
// Ids ascend: within a process, each id is greater than all ids issued before the call
// that returned it began. The time in ids never goes back, whatever clocks do. A
// Generator reads no wall clock: it takes the time of the center's last answer and adds
// the monotonic time since. A burst may run ahead of that time by MaxAhead. At high
// rates only one id in 32 reads the clock, and ids are up to two ticks old.
//
// If a range begins ahead of the clock, ids start at its beginning: see lease.Request.MaxLead. If
// the center's clock steps back, ids continue from the previous ones. If renewals do not extend
// the range for a while, ids are paced so that the rest of the range lasts until the next
// extension.
//
// NextID suits most callers. NextIDs fills a slice, for bulk inserts. NextIDWait waits
// where NextID fails.
type Generator struct {
	layout  snowflake.Layout
	unit    int64 // ns
	seqBits uint
	tsShift uint
	seqMask int64
	lowBits uint  // of the first sequence number of a tick: see low
	ahead   int64 // ticks

	base  time.Time
	clock func() time.Duration // nil: the time since base
	at    func(point)          // tests set it to be called at each point; may be nil

	term atomic.Pointer[term]

	_ [64]byte // keeps last, which every id writes, off the cache lines that it reads
	// last is tick<<seqBits | sequence of the last use. Each issue is one atomic
	// operation on it. Uniqueness depends on the order of loads and stores of last and
	// term: see take, next, Adopt, Extend and Stop.
	last atomic.Int64
	_    [64]byte

	skipped atomic.Int64 // values of last that did not become ids
	issued  atomic.Int64 // the greatest count that Issued has returned
	waits   atomic.Int64 // how often a caller has slept
}

// A point is a place in the code where tests stop one goroutine and let another run.
type point int

const (
	loadedLast point = iota
	loadedTerm
	addedLast
	beganRush
	endedRush
	markedSwap
	raisedSwap
	checkedExtend
	markedStop
)

// A Range is the right to use a worker id for ids whose time lies in (Floor, Ceiling].
type Range struct {
	Worker         int64
	Floor, Ceiling int64         // Unix milliseconds of the center's clock
	Now            int64         // the center's clock at its answer, Unix milliseconds
	At             time.Duration // Generator.Elapsed when the answer arrived
	// Grows is when renewals begin to return a later Ceiling, in Unix milliseconds of the center's
	// clock. It is Ceiling or later if no renewal does.
	Grows int64
}

type state uint8

const (
	notStarted state = iota
	held
	swapping
	stopped
)

// A term describes the ids that a generator may issue. Once it is installed, only ended and the
// rush change.
type term struct {
	Range
	state  state
	drops  uint32 // calls of Drop before it
	lo, hi int64  // the first and last value of last in the range; hi < 0 means none
	prefix int64  // worker and business number in their places
	half   int64  // the value of last that closes wanted
	salt   uint64 // of the worker id: see low
	pacer
	ended   chan struct{}
	wanted  chan struct{} // closed when half of the range is used
	asked   atomic.Bool   // wanted is closed
	failing atomic.Bool   // a renewal has failed
	rush
}

// none returns a term without a range.
func none(s state, drops uint32, p pacer) *term {
	return &term{state: s, drops: drops, hi: -1, half: never, pacer: p, ended: make(chan struct{})}
}

// DefaultMaxAhead is how far a burst may run ahead of the clock by default.
const DefaultMaxAhead = time.Second

// Option configures a Generator in New.
type Option func(*Generator)

// WithMaxAhead sets how far a burst may run ahead of the clock, at least two time units of the
// layout, rounded down to whole units. The default, also for 0, is DefaultMaxAhead, or two time
// units if that is longer.
func WithMaxAhead(d time.Duration) Option {
	return func(g *Generator) {
		if d > 0 {
			g.ahead = int64(d) / g.unit
		}
	}
}

// WithClock replaces Go's monotonic clock, for tests and simulations. sinceStart returns the time
// since a fixed instant. Every NextID calls it, even at high rates and possibly concurrently. A
// wrong clock puts wrong times into ids, but causes neither duplicates nor ids outside the range.
func WithClock(sinceStart func() time.Duration) Option {
	return func(g *Generator) { g.clock = sinceStart }
}

// New returns a Generator without a worker id, for a valid layout. It issues ids after the first
// Adopt.
func New(l snowflake.Layout, opts ...Option) *Generator {
	l = l.WithDefaults()
	g := &Generator{
		layout:  l,
		unit:    int64(l.TimeUnit),
		seqBits: uint(l.SequenceBits),
		tsShift: uint(l.WorkerBits + l.BusinessBits + l.SequenceBits),
		seqMask: l.PerTick() - 1,
		lowBits: min(12, uint(l.SequenceBits)),
		base:    time.Now(),
	}
	g.ahead = max(2, int64(DefaultMaxAhead)/g.unit)
	for _, o := range opts {
		o(g)
	}
	g.term.Store(none(notStarted, 0, pacer{}))
	return g
}

// Layout returns the generator's layout with defaults applied.
func (g *Generator) Layout() snowflake.Layout { return g.layout }

// Elapsed returns the monotonic time since New, for Range.At.
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

// NextID returns the next id. If a burst has used up its lead or the range, NextID sleeps
// once, for at most one tick.
//
// Errors: ErrNotStarted, ErrLeaseExpired, ErrClosed, ErrExhausted. The id is then 0.
func (g *Generator) NextID() (int64, error) { return g.next(0, false) }

// NextIDWait returns the next id. It waits, until ctx ends, for the clock to catch up with a
// burst, for an expired lease to be renewed, and after Drop for another range.
//
// Errors: ErrNotStarted before the first range and ErrClosed, both without waiting. When ctx
// ends, its cause joined with ErrLeaseExpired, ErrExhausted or ErrNotStarted. The id is then 0.
func (g *Generator) NextIDWait(ctx context.Context) (int64, error) {
	if id, _ := g.next(0, true); id > 0 {
		return id, nil
	}
	var dst [1]int64
	err := g.NextIDs(ctx, dst[:])
	return dst[0], err
}

// NextIDs fills dst with ascending ids. It makes a single reservation if the batch fits within
// MaxAhead, and several otherwise. It waits like NextIDWait and returns the same errors. On
// error, dst is zeroed and the reserved ids are never issued. If Drop is called while NextIDs
// waits, NextIDs starts again, because a copy of the process may have its reservation.
func (g *Generator) NextIDs(ctx context.Context, dst []int64) error {
	drops := uint32(0)
	for rest := dst; len(rest) > 0; {
		v, n, t := g.take(int64(len(rest)))
		if t.drops != drops {
			drops, rest = t.drops, dst // n is at most len(rest) still
		}
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

// take reserves up to want values of last. It returns the first value, the number of values
// reserved, and the term. If it reserved none, v is the value that the term did not allow.
func (g *Generator) take(want int64) (v, n int64, t *term) {
	mono := g.mono() // read once: a slightly old time is safe
	for tries := 1; ; tries++ {
		// Load last before term. In the other order, an issuer that sleeps between the
		// two could put the previous worker id into a value that this id's next holder
		// uses too.
		last := g.last.Load()
		g.pause(loadedLast)
		t = g.term.Load()
		g.pause(loadedTerm)
		tick := g.tick(t, mono)
		at := max(tick, t.lo>>(g.seqBits&63))
		v = max(at<<(g.seqBits&63)|g.low(t, at), last+1)
		end := min(v+want-1, g.bound(t, mono, tick))
		if max(v, end) >= t.half {
			t.want()
		}
		if end < v {
			return v, 0, t
		}
		skip := v - last - 1
		if skip > 0 {
			g.skipped.Add(skip)
		}
		if g.last.CompareAndSwap(last, end) {
			return v, end - v + 1, t
		}
		if skip > 0 {
			g.skipped.Add(-skip)
		}
		if tries%rushTries == 0 {
			t.end.Store(0)
		}
	}
}

// low returns the first sequence number of a tick that a burst does not enter. Ids are often
// sharded by their last bits. Those must be evenly distributed however many ids each request
// takes, and however far apart requests are, so they come from a hash of the tick and the worker
// id. This takes no ids from a burst, which begins each tick except its first at 0.
//
// The hash is the beginning of the finalizer of Austin Appleby's MurmurHash3.
func (g *Generator) low(t *term, tick int64) int64 {
	h := (uint64(tick) + t.salt) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return int64(h >> (64 - g.lowBits&63))
}

// bound returns the last value that t allows at mono, when the center's clock is at tick.
func (g *Generator) bound(t *term, mono, tick int64) int64 {
	return min(t.hi, (g.leadTick(t, mono, tick)+g.ahead)<<(g.seqBits&63)|g.seqMask)
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

// rise fills dst with consecutive ids that begin with id. Writing four per iteration takes two
// thirds of the time.
func rise(dst []int64, id int64) {
	for ; len(dst) >= 4; dst, id = dst[4:], id+4 {
		four := (*[4]int64)(dst)
		four[0], four[1], four[2], four[3] = id, id+1, id+2, id+3
	}
	for i := range dst {
		dst[i] = id + int64(i)
	}
}

// made returns the number of ids issued, which may or may not include calls in progress.
func (g *Generator) made() int64 {
	n := g.last.Load()
	return n - g.skipped.Load() // load skipped after last: a concurrent skip can only lower n
}

// Issued returns the number of ids issued. Counting adds no work to NextID. The count never
// falls. It may or may not include calls in progress, even calls that then fail or start again.
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

// Waits returns how often a caller had to wait, after a burst or for an expired lease.
func (g *Generator) Waits() int64 { return g.waits.Load() }
