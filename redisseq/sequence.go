package redisseq

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
	"github.com/snowlease/snowlease/snowflake"
)

//go:embed sequence.lua
var sequenceLua string

// A Sequence issues ids whose tick and sequence are counted in Redis, so that any
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
//     and up to a tick, about 2 s. Callers go on meanwhile with what they have reserved,
//     for MaxAge at most. A namespace that is used for the first time waits as well. So a
//     Redis needs no persistence for this, and an asynchronous failover costs no id
//     twice. The ids after a loss lie MaxAhead above the clock, as after a burst; ExactTimes
//     has them wait.
//
// Not covered: two masters that take writes at once, but for WithWaitReplicas, which a
// Sequence heeds for every reservation; a clock that is set back by more
// than Skew, and a loss of the records that tell so before ids are level with the clock
// again, which takes twice as long as it was set back by; another source of ids
// with the same layout and worker number, be it a worker id that a center lends or a
// Sequence of another namespace; with prefetching, a process that is copied with its
// memory and goes on before it calls Reset.
type Sequence struct {
	center  *Center // the client, what it is called, prefix, quarantine
	script  *redis.Script
	cfg     SequenceConfig // defaults filled in
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

// NewSequence returns a Sequence on client, which stays the caller's to close. It does
// not connect: see Start. The options are those of New, and so are the clients that it
// refuses with ErrClient.
func NewSequence(client redis.UniversalClient, cfg SequenceConfig, opts ...Option) (*Sequence, error) {
	c, err := New(client, opts...)
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
	s := &Sequence{
		center: c, script: redis.NewScript(sequenceLua), cfg: cfg, strict: cfg.Prefetch == 1,
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
	s.source = s.reserve
	s.cur.Store(&block{})
	s.outcome.Store(&outcome{})
	return s, nil
}

// Start makes sure that ids can be issued: it waits within ctx for Redis and for the
// end of a quarantine, and refuses a Redis whose clock and this host's are further
// apart than lease.MaxClockError. It reserves nothing. A second Start does nothing.
//
// Errors: *lease.MismatchError, *lease.ClockError, ErrRunID, ErrVersion, ErrDamaged at
// once; *lease.QuarantineError where ctx ends before the quarantine: the Sequence has
// started all the same, and issues ids from its end on.
func (s *Sequence) Start(ctx context.Context) error {
	if state := s.standing(); !errors.Is(state, snowflake.ErrNotStarted) {
		return state
	}
	return s.try(ctx, func(ctx context.Context) error {
		_, _, err := s.call(ctx, 0, s.wall())
		if err == nil || inQuarantine(err) {
			s.begin(ctx)
		}
		if state := s.standing(); errors.Is(state, snowflake.ErrStopped) {
			return state
		}
		return err
	})
}

func (s *Sequence) begin(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !errors.Is(s.state, snowflake.ErrNotStarted) {
		return
	}
	s.state = nil
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel = cancel
	go s.reserveAhead(life)
}

// standing returns ErrNotStarted, ErrStopped, or nil.
func (s *Sequence) standing() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Close ends issuing, for good. What was reserved and not issued is given to nobody.
func (s *Sequence) Close() {
	s.mu.Lock()
	if errors.Is(s.state, snowflake.ErrStopped) {
		s.mu.Unlock()
		return
	}
	s.state = snowflake.ErrStopped
	s.drop()
	cancel := s.cancel
	s.mu.Unlock()
	close(s.halted)
	if cancel != nil {
		cancel()
		<-s.ended
	}
}

// Reset drops the ids that were reserved ahead, in a process that may have been copied
// with its memory: see idworker.IdWorker.Reset. With Prefetch 1 it has nothing to drop.
func (s *Sequence) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.copies++
	s.drop()
}

// NextID returns the next id, which is greater than all that were issued before in
// this process. It waits up to 2 s for Redis or for the lead of a burst.
//
// Errors: snowflake.ErrNotStarted, ErrStopped and ErrExhausted;
// *lease.QuarantineError; whatever Redis answered. The id is then 0.
func (s *Sequence) NextID() (int64, error) {
	if v, n := s.grab(1); n == 1 {
		return s.id(v), nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	return s.NextIDWait(ctx)
}

// NextIDWait returns the next id and waits for it as long as ctx: for Redis, for the
// lead of a burst and for the end of a quarantine. It returns at once where ctx has a
// deadline before that end.
//
// Errors: snowflake.ErrNotStarted and ErrStopped at once; others as of NextID, with
// the error of ctx where it has ended. The id is then 0.
func (s *Sequence) NextIDWait(ctx context.Context) (int64, error) {
	var dst [1]int64
	err := s.NextIDs(ctx, dst[:])
	return dst[0], err
}

// NextIDs fills dst with rising ids: with Prefetch 1 by one call of Redis, or several
// for more ids than the lead holds. It waits as NextIDWait does. On an error dst is
// all zero; the ids that were reserved are never issued.
func (s *Sequence) NextIDs(ctx context.Context, dst []int64) error {
	for rest := dst; len(rest) > 0; {
		v, n := s.grab(int64(len(rest)))
		if n == 0 {
			err := s.try(ctx, func(ctx context.Context) (err error) {
				v, n, err = s.more(ctx, int64(len(rest)))
				return err
			})
			if err != nil {
				clear(dst)
				return err
			}
		}
		s.fill(v, rest[:n])
		rest = rest[n:]
	}
	return nil
}

// more returns values, or none where there are some to grab again.
func (s *Sequence) more(ctx context.Context, want int64) (first, n int64, err error) {
	if !s.strict {
		return 0, 0, s.refill(ctx, want)
	}
	if err = s.standing(); err == nil {
		first, n, err = s.source(ctx, min(want, maxCall))
	}
	s.direct.Add(n)
	return first, n, err
}

func (s *Sequence) id(v int64) int64 {
	return v>>(s.seqBits&63)<<(s.tsShift&63) | s.worker | v&s.seqMask
}

func (s *Sequence) fill(v int64, dst []int64) {
	for len(dst) > 0 {
		n := min(int64(len(dst)), s.seqMask-v&s.seqMask+1) // to the end of the tick
		id := s.id(v)
		for i := range dst[:n] {
			dst[i] = id + int64(i)
		}
		v, dst = v+n, dst[n:]
	}
}
