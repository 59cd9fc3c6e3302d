package counter

import (
	"context"
	_ "embed"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq"
	"github.com/snowlease/snowlease/redisseq/internal/conn"
	"github.com/snowlease/snowlease/snowflake"
)

//go:embed counter.lua
var counterLua string

var script = conn.Lua(counterLua)

// A Counter issues ids whose tick and sequence are counted in Redis, so that any
// number of processes share one worker number. All methods are safe for concurrent
// use. Choose it where ids must rise across processes, or where there are more
// processes than worker ids; a snowflake.Generator, which needs no round trip, is
// many times faster and goes on while Redis is away.
//
// # Order
//
// With Prefetch 1 each call is one call of a script: an id that is asked for after
// another has been returned, by any process, is greater. Else a process reserves
// blocks of ids ahead, by one call each and in the background, of a size that follows
// its rate; ids rise within the process, and across processes to MaxAge.
//
// # Uniqueness
//
// One key, snowlease:{ns}:sequence, without a TTL, holds the last id's place; the
// script reserves above it, within a lead of MaxAhead over the clock of Redis (TIME).
// No id is given twice:
//
//   - A reply that is lost, and a block that is not used up, are skipped.
//   - A clock that is set back changes nothing: ids go on above the last one, and may
//     use up ticks at half the pace of the clock until it has caught up.
//   - A key that is lost, and a Redis that has restarted or failed over (its run_id
//     or master_replid changed) or that knows less than a caller was given: all that may
//     have been forgotten lies at most MaxAhead, one tick and Skew above the clock of the
//     loss, and ids go on above that as soon as the lead reaches so far, which takes Skew
//     and up to a tick, about 2 c. Callers go on meanwhile with what they have reserved,
//     for MaxAge at most. A namespace that is used for the first time waits as well. So a
//     Redis needs no persistence for this, and an asynchronous failover costs no id
//     twice. The ids after a loss lie MaxAhead above the clock, as after a burst; ExactTimes
//     has them wait.
//
// Not covered: two masters that take writes at once, but for redisseq.WithWaitReplicas, which a
// Counter heeds for every reservation; a clock that is set back by more
// than Skew, and a loss of the records that tell so before ids are level with the clock
// again, which takes twice as long as it was set back by; another source of ids
// with the same layout and worker number, be it a worker id that a center lends or a
// Counter of another namespace; with prefetching, a process that is copied with its
// memory and goes on before it calls Reset.
type Counter struct {
	conn    *conn.Conn
	script  *redis.Script
	cfg     Config // defaults filled in
	strict  bool
	seqBits uint
	tsShift uint
	seqMask int64
	worker  int64 // in its place
	last    int64 // tick that the time field holds
	pin     string
	args    []any // of the script, that never change
	wall    func() time.Time
	mono    func() time.Duration
	source  func(ctx context.Context, n int64) (first, got int64, err error) // reserve

	known   atomic.Int64 // the greatest value that Redis gave
	calls   atomic.Int64
	given   atomic.Int64 // values that Redis gave
	direct  atomic.Int64 // ids issued without a block
	outcome atomic.Pointer[outcome]
	told    atomic.Int32 // the condition that the log has
	doubt   atomic.Bool  // a call has ended without an outcome
	cur     atomic.Pointer[block]

	asked  chan *flight
	halted chan struct{} // closed by Close
	ended  chan struct{} // closed when the goroutine that reserves ahead has ended

	mu      sync.Mutex
	state   error // why there are no ids, nil: started
	cancel  context.CancelFunc
	next    *block
	flight  *flight // nil: none
	copies  int     // Resets
	short   int64   // ids that callers wait for
	used    int64   // ids of blocks before cur
	size    int64   // of the last block
	sized   time.Duration
	sizedAt int64 // ids issued then
}

// An outcome is how the last call ended.
type outcome struct{ err error }

// New returns a Counter on client, which stays the caller's to close. It does
// not connect: see Start. Options are those of redisseq.New, and so are the clients that
// it refuses with redisseq.ErrClient.
func New(client redis.UniversalClient, cfg Config, opts ...redisseq.Option) (*Counter, error) {
	k, err := conn.New(client, opts...)
	if err != nil {
		return nil, err
	}
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	l, base := cfg.Layout, time.Now()
	_, last := l.Ticks(0, math.MaxInt64)
	last = min(last, 1e15) // what scripts read and write exactly
	c := &Counter{
		conn: k, script: redis.NewScript(script), cfg: cfg, strict: cfg.Prefetch == 1,
		seqBits: uint(l.SequenceBits), tsShift: uint(l.WorkerBits + l.BusinessBits + l.SequenceBits), seqMask: l.PerTick() - 1,
		worker: cfg.Worker << (l.BusinessBits + l.SequenceBits), last: last, pin: cfg.pin(),
		args: []any{
			lease.MaxClockError.Microseconds(), l.Epoch * 1000, l.TimeUnit.Microseconds(), last,
			l.PerTick(), int64(1) << max(0, min(8, int(l.SequenceBits)-2)), cfg.ahead(), cfg.Skew.Microseconds(), cfg.ExactTimes,
		},
		wall: time.Now, mono: func() time.Duration { return time.Since(base) },
		asked: make(chan *flight, 1), halted: make(chan struct{}), ended: make(chan struct{}),
		state: snowflake.ErrNotStarted, size: 1,
	}
	c.source = c.reserve
	c.cur.Store(&block{})
	c.outcome.Store(&outcome{})
	return c, nil
}

// Start makes sure that ids can be issued: it waits within ctx for Redis and for the
// end of a quarantine, and refuses a Redis whose clock and this host's are further
// apart than lease.MaxClockError. It reserves nothing. A second Start does nothing.
//
// Errors: *lease.MismatchError, *lease.ClockError, ErrTimeField, and ErrRunID, ErrVersion,
// ErrDamaged of package redisseq at once; *lease.QuarantineError where ctx ends before the quarantine: the Counter has
// started all the same, and issues ids from its end on.
func (c *Counter) Start(ctx context.Context) error {
	if state := c.standing(); !errors.Is(state, snowflake.ErrNotStarted) {
		return state
	}
	return c.try(ctx, func(ctx context.Context) error {
		_, _, err := c.call(ctx, 0, c.wall())
		if err == nil || inQuarantine(err) {
			c.begin(ctx)
		}
		if state := c.standing(); errors.Is(state, snowflake.ErrStopped) {
			return state
		}
		return err
	})
}

func (c *Counter) begin(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !errors.Is(c.state, snowflake.ErrNotStarted) {
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

// Close ends issuing, for good. What was reserved and not issued is given to nobody.
func (c *Counter) Close() {
	c.mu.Lock()
	if errors.Is(c.state, snowflake.ErrStopped) {
		c.mu.Unlock()
		return
	}
	c.state = snowflake.ErrStopped
	c.drop()
	cancel := c.cancel
	c.mu.Unlock()
	close(c.halted)
	if cancel != nil {
		cancel()
		<-c.ended
	}
}

// Reset drops the ids that were reserved ahead, in a process that may have been copied
// with its memory: see idworker.IdWorker.Reset. With Prefetch 1 it has nothing to drop.
func (c *Counter) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.copies++
	c.drop()
}

// NextID returns the next id, which is greater than all that were issued before in
// this process. It waits up to 2 s for Redis or for the lead of a burst.
//
// Errors: snowflake.ErrNotStarted, ErrStopped and ErrExhausted;
// *lease.QuarantineError; whatever Redis answered. The id is then 0.
func (c *Counter) NextID() (int64, error) {
	if v, n := c.grab(1); n == 1 {
		return c.id(v), nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	return c.NextIDWait(ctx)
}

// NextIDWait returns the next id and waits for it as long as ctx: for Redis, for the
// lead of a burst and for the end of a quarantine. It returns at once where ctx has a
// deadline before that end.
//
// Errors: snowflake.ErrNotStarted and ErrStopped at once; others as of NextID, with
// the error of ctx where it has ended. The id is then 0.
func (c *Counter) NextIDWait(ctx context.Context) (int64, error) {
	var dst [1]int64
	err := c.NextIDs(ctx, dst[:])
	return dst[0], err
}

// NextIDs fills dst with rising ids: with Prefetch 1 by one call of Redis, or several
// for more ids than the lead holds. It waits as NextIDWait does. On an error dst is
// all zero; the ids that were reserved are never issued.
func (c *Counter) NextIDs(ctx context.Context, dst []int64) error {
	for rest := dst; len(rest) > 0; {
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
	}
	return nil
}

// more returns values, or none where there are some to grab again.
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
		n := min(int64(len(dst)), c.seqMask-v&c.seqMask+1) // to the end of the tick
		id := c.id(v)
		for i := range dst[:n] {
			dst[i] = id + int64(i)
		}
		v, dst = v+n, dst[n:]
	}
}
