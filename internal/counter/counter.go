package counter

import (
	"context"
	"embed"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/redisconn"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq"
)

//go:embed *.lua
var files embed.FS

var script = redisconn.Lua(files, "counter.lua")

// A Counter issues ids whose tick and sequence are counted in Redis, so that any number
// of processes can share one worker id. All methods are safe for concurrent use. It issues
// ids from Start to Close.
//
// Use it if ids must ascend across processes, or if there are more processes than worker
// ids. Otherwise lease a worker id: it needs no round trip, is many times faster, and
// continues during an outage of Redis.
//
// # Order
//
// With Prefetch 1, each call runs a script once. An id requested after another was
// returned, by any process, is greater.
//
// Otherwise a process reserves blocks of ids in the background, one call each. Their size
// follows its rate. Ids ascend within the process; across processes they can be out of
// order by up to MaxAge.
//
// # Uniqueness
//
// The key snowlease:{ns}:sequence, which has no TTL, holds the tick and sequence of the
// last id. The script reserves above it, up to MaxAhead above the clock of Redis (TIME).
// Ids do not repeat:
//
//   - After a lost reply, and if a block is not used up, ids are skipped.
//   - If the clock is set back, ids continue above the last one. They may use up ticks at
//     half the pace of the clock until it has caught up.
//   - A loss is a missing key, a restart, a failover (run_id or master_replid changes), or
//     a Redis that knows less than a caller was given. All forgotten ids lie at most
//     MaxAhead, one tick and Skew above the clock of the loss, and new ids above that. They
//     start after Skew and up to a tick, about 2 s by default. Meanwhile callers continue
//     with reserved ids, for at most MaxAge.
//
// So Redis needs no persistence, and an asynchronous failover repeats no id. A new
// namespace also waits as after a loss. Ids after a loss lie MaxAhead above the clock, as
// after a burst; with ExactTimes they wait instead.
//
// # Limits
//
// The following can repeat ids:
//
//   - Two masters that accept writes at once. redisseq.WithWaitReplicas narrows this: a
//     Counter waits for these replicas with each reservation.
//   - A clock that is set back by more than Skew, followed by a loss of the records before
//     ids are level with the clock again. That takes twice as long as the clock was set
//     back by.
//   - A clock of Redis that was more than 36 hours ahead while ids were made. When it is
//     right again, calls return lease.ErrDamaged until somebody deletes the key. The same
//     ids come again when the clock gets there.
//   - Another source of ids with the same layout and worker id, such as a center that
//     lends it, or a Counter of another namespace.
//   - With prefetching, a process that is copied with its memory and does not call Reset
//     before it continues.
type Counter struct {
	conn    *redisconn.Conn
	call    redisconn.Call // without what differs between calls
	cfg     Config         // defaults filled in
	strict  bool
	seqBits uint
	tsShift uint
	seqMask int64
	worker  int64 // shifted into place
	last    int64 // greatest tick that the time field holds
	pin     string
	args    []any // arguments of the script that never change
	wall    func() time.Time
	mono    func() time.Duration
	source  func(ctx context.Context, n int64) (first, got int64, err error) // reserve

	known   atomic.Int64 // the greatest value that Redis gave
	calls   atomic.Int64
	given   atomic.Int64 // values that Redis gave
	direct  atomic.Int64 // ids issued without a block
	outcome atomic.Pointer[outcome]
	doubt   atomic.Bool // a call ended without an outcome
	cur     atomic.Pointer[block]
	copies  atomic.Int64 // calls of Reset, times two; odd while one runs, under mu

	asked  chan *flight
	halted chan struct{} // closed by Close
	ended  chan struct{} // closed when the goroutine that reserves ahead has ended

	mu      sync.Mutex
	state   error // nil if started, else ErrNotStarted or ErrStopped
	cancel  context.CancelFunc
	next    *block  // nil if none
	flight  *flight // nil if none
	short   int64   // ids that callers wait for
	used    int64   // ids issued from blocks before cur
	size    int64   // of a block, set by adapt
	sized   time.Duration
	sizedAt int64 // ids issued at that time
}

// An outcome is how the last call ended.
type outcome struct {
	err   error
	since time.Time // when the first call after the last success began, if it failed
}

// New returns a Counter on client. It does not connect; Start does. The caller closes
// the Counter, then client. Options and accepted clients are those of redisseq.New. Errors
// are those of redisseq.New and of Config.Validate.
func New(client redis.UniversalClient, cfg Config, opts ...redisseq.Option) (*Counter, error) {
	k, err := redisconn.New(client, opts...)
	if err != nil {
		return nil, err
	}
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	l, base := cfg.Layout, time.Now()
	_, last := l.Ticks(0, math.MaxInt64)
	last = min(last, 1e15) // scripts are exact up to it
	c := &Counter{
		conn: k, cfg: cfg, strict: cfg.Prefetch == 1,
		seqBits: uint(l.SequenceBits), tsShift: uint(l.WorkerBits + l.BusinessBits + l.SequenceBits), seqMask: l.PerTick() - 1,
		worker: cfg.Worker << (l.BusinessBits + l.SequenceBits), last: last, pin: cfg.pin(),
		args: []any{
			lease.MaxClockError.Microseconds(), l.Epoch * 1000, l.TimeUnit.Microseconds(), last,
			l.PerTick(), int64(1) << max(0, min(8, int(l.SequenceBits)-2)), cfg.ahead(), cfg.Skew.Microseconds(), cfg.ExactTimes,
		},
		wall: time.Now, mono: func() time.Duration { return time.Since(base) },
		asked: make(chan *flight, 1), halted: make(chan struct{}), ended: make(chan struct{}),
		state: generator.ErrNotStarted, size: 1,
	}
	key := k.Key(cfg.Namespace, "sequence")
	c.call = redisconn.Call{
		Verb: "sequence of", Name: cfg.Namespace, Script: redis.NewScript(script), Keys: []string{key},
		Remedy: "give the key " + key + " another prefix if it is not snowlease's; if it is, delete it: a quarantine follows",
	}
	c.source = c.reserve
	c.cur.Store(&block{})
	c.outcome.Store(&outcome{})
	return c, nil
}

// Start waits within ctx until ids can be issued: for Redis, and for the end of a
// quarantine. It refuses a Redis whose clock differs from this host's by more than
// lease.MaxClockError. It reserves nothing. A second Start does nothing, and after Close it
// returns generator.ErrStopped.
//
// These errors are returned at once: *lease.MismatchError, *lease.ClockError,
// lease.ErrDamaged, and what wraps lease.ErrSetup, such as a refused login or a clock of
// Redis outside the layout's time field. After other errors, such as a lost connection,
// Start tries again until ctx ends. After an error, call Start again or Close.
//
// If a quarantine lasts longer than ctx, Start returns *lease.QuarantineError, at once if
// ctx has a deadline. The Counter has then started, and issues ids when the quarantine ends.
func (c *Counter) Start(ctx context.Context) error {
	if state := c.standing(); !errors.Is(state, generator.ErrNotStarted) {
		return state
	}
	return c.try(ctx, func(ctx context.Context) error {
		_, _, err := c.ask(ctx, 0, c.wall())
		if err == nil || inQuarantine(err) {
			c.begin(ctx)
		}
		if state := c.standing(); errors.Is(state, generator.ErrStopped) {
			return state
		}
		return err
	})
}

func (c *Counter) begin(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !errors.Is(c.state, generator.ErrNotStarted) {
		return
	}
	c.state = nil
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.cancel = cancel
	go c.reserveAhead(life)
}

// standing returns ErrNotStarted, ErrStopped, or nil.
func (c *Counter) standing() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// Close stops the Counter for good. It discards ids that were reserved and not issued. It
// does not close the client. A second Close does nothing. The error is always nil.
func (c *Counter) Close() error {
	c.mu.Lock()
	if errors.Is(c.state, generator.ErrStopped) {
		c.mu.Unlock()
		return nil
	}
	c.state = generator.ErrStopped
	c.drop()
	cancel := c.cancel
	c.mu.Unlock()
	close(c.halted)
	if cancel != nil {
		cancel()
		<-c.ended
	}
	return nil
}

// Reset discards the ids that were reserved ahead. Call it in a process that may have
// been copied with its memory; see snowlease.Worker.Reset. Calls under way ask again; with
// Prefetch 1 only they have ids.
func (c *Counter) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.copies.Add(1)
	c.drop()
	c.copies.Add(1)
}

// resets returns copies, after a Reset that is under way.
func (c *Counter) resets() int64 {
	if n := c.copies.Load(); n%2 == 0 {
		return n
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.copies.Load()
}

// NextID returns the next id, which is greater than all that this Counter issued before
// with the same business number. It waits up to 2 s for Redis, for the end of a quarantine,
// or for the clock if a burst has used up MaxAhead.
//
// On error the id is 0. Errors are ErrNotStarted, ErrStopped and ErrExhausted of package
// snowflake, *lease.QuarantineError, and errors from Redis.
func (c *Counter) NextID() (int64, error) {
	if v, n := c.grab(1); n == 1 {
		return c.id(v), nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	return c.NextIDWait(ctx)
}

// NextIDWait returns the next id. It waits until ctx ends: for Redis, for the clock after
// a burst, and for the end of a quarantine. If ctx has a deadline before the wait would
// end, it returns at once.
//
// On error the id is 0. Errors are those of NextID, joined with the cause of ctx if that
// has ended. It returns ErrNotStarted and ErrStopped at once.
func (c *Counter) NextIDWait(ctx context.Context) (int64, error) {
	var dst [1]int64
	err := c.NextIDs(ctx, dst[:])
	return dst[0], err
}

// NextIDs fills dst with ascending ids. It waits like NextIDWait and returns the same
// errors. With Prefetch 1 it takes one call of Redis, or several for more ids than fit
// within MaxAhead. On error, dst is zeroed and the reserved ids are discarded. If Reset is
// called meanwhile, NextIDs starts again, since a copy of the process may have what it has.
func (c *Counter) NextIDs(ctx context.Context, dst []int64) error {
	for rest, copies := dst, c.resets(); len(rest) > 0; {
		v, n := c.grab(int64(len(rest)))
		if n == 0 {
			err := c.try(ctx, func(ctx context.Context) (err error) {
				v, n, err = c.more(ctx, int64(len(rest)))
				return err
			})
			if err != nil {
				clear(dst)
				return err
			}
		}
		c.fill(v, rest[:n])
		rest = rest[n:]
		if now := c.copies.Load(); now != copies {
			rest, copies = dst, c.resets()
		}
	}
	return nil
}

// more returns values, or none if grab should be tried again.
func (c *Counter) more(ctx context.Context, want int64) (first, n int64, err error) {
	if !c.strict {
		return 0, 0, c.refill(ctx, want)
	}
	if err = c.standing(); err == nil {
		first, n, err = c.source(ctx, min(want, maxCall))
	}
	c.direct.Add(n)
	return first, n, err
}

func (c *Counter) id(v int64) int64 {
	return v>>(c.seqBits&63)<<(c.tsShift&63) | c.worker | v&c.seqMask
}

func (c *Counter) fill(v int64, dst []int64) {
	for len(dst) > 0 {
		n := min(int64(len(dst)), c.seqMask-v&c.seqMask+1) // up to the end of the tick
		id := c.id(v)
		for i := range dst[:n] {
			dst[i] = id + int64(i)
		}
		v, dst = v+n, dst[n:]
	}
}
