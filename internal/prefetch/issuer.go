// Package prefetch issues numbers that a store reserves, for package numbers and for the ids that
// package counter counts in Redis.
package prefetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/numberstore"
)

// A Policy configures an Issuer. Several goroutines may call its functions concurrently.
type Policy struct {
	// Strict makes each call ask the store. Otherwise, numbers are reserved ahead.
	Strict bool
	Steps  numberstore.Steps
	Step   int64 // the first size
	Most   int64 // the limit of one reservation, for callers that wait for more than Step
	// MaxAge, if not 0, is how long a number may wait before it is issued, from the call that
	// reserves it. With a MaxAge, the next numbers are reserved when half of the current ones are
	// used, and single numbers when they are needed, so that numbers are fresh at a low rate.
	MaxAge time.Duration
	Now    func() time.Duration // any clock that nobody sets. Default: the time since New
	// Reserve requests up to n numbers above a given one from the store. It bounds the call.
	Reserve func(ctx context.Context, n, above int64) (numberstore.Range, error)
	// Final reports whether a caller must not wait for another attempt after err.
	Final func(err error) bool
	Over  error         // if not nil, an error after which there is no other attempt
	Retry time.Duration // the longest delay before another attempt, give or take half
	// Changed is called after the first conclusive answer of another kind than the previous one, and
	// again while there are no numbers. One call follows the other, in the order of the answers. err
	// is nil if the store provides numbers.
	Changed func(since time.Time, err error)
	// Look makes an Issuer call Reserve for no numbers regularly while the last answer is an error,
	// or if a caller did not wait for it, because callers may then request nothing.
	Look                bool
	NotStarted, Stopped error // what callers get before Start and after Close
	Late, Aged          error // what callers get without an answer in time, and with an answer after MaxAge
}

// lookTime is the interval of Look, and the longest wait for another attempt after an error that
// includes a waiting time. While the clock of Redis is behind, a quarantine ends in time only if
// counter.lua runs more than once a second.
const lookTime = 500 * time.Millisecond

const firstRetry = 50 * time.Millisecond

// The kinds of answers.
const (
	issuing = iota
	failing
	waiting // the store issues no numbers for a time that it names
)

func kindOf(err error) int {
	_, named := waitOf(err)
	switch {
	case err == nil, errors.Is(err, generator.ErrExhausted): // a burst, so the store works
		return issuing
	case named:
		return waiting
	}
	return failing
}

// waitOf returns for how long the store will issue no numbers, if err has a method for that.
func waitOf(err error) (wait time.Duration, named bool) {
	var w interface{ Wait() time.Duration }
	if errors.As(err, &w) {
		return w.Wait(), true
	}
	return 0, false
}

// An Issuer issues numbers in ascending order. All methods are safe for concurrent use.
type Issuer struct {
	cur atomic.Pointer[chunk]
	Policy

	round   atomic.Pointer[round]
	kick    chan struct{}      // one element: a chunk may be due
	cancel  context.CancelFunc // ends the goroutine
	running sync.WaitGroup     // the goroutine
	life    sync.Mutex         // held by Start and by Close

	waits  atomic.Int64
	above  atomic.Int64 // the greatest number that the store has issued
	given  atomic.Int64 // how many numbers the store has issued
	direct atomic.Int64 // numbers issued in strict order

	copies  atomic.Int64 // how often Reset was called, times two; odd while it runs, under mu
	dropped atomic.Int64 // numbers discarded by Reset and by their age

	mu    sync.Mutex
	stats Stats
	news  []func()   // calls of Changed; the first is under way
	dice  *rand.Rand // for delays; seeded by the time of New, so that a simulation repeats them
}

// A chunk is a reserved range, linked to the next one. Chunks are used in the order in which they
// were reserved. A chunk is used up before the next one becomes current, so a caller that still
// sees it takes no more numbers from it. Thus numbers ascend.
type chunk struct {
	used  atomic.Int64 // exceeds n if callers came after the end
	n     int64
	base  int64 // the numbers are base+1 to base+n
	due   int64 // how many numbers are used when the next chunk is to be reserved
	prior int64 // numbers in the chunks before it
	born  time.Duration
	next  atomic.Pointer[chunk]
}

// A round lasts from one answer of the store to the next.
type round struct {
	err   error        // the answer that the round began with
	short atomic.Int64 // how many numbers callers wait for
	done  chan struct{}
}

// New returns an Issuer with the policy p. It issues no numbers before Start.
func New(p Policy) *Issuer {
	e, base := &Issuer{Policy: p, kick: make(chan struct{}, 1), cancel: func() {}}, time.Now()
	if e.Now == nil {
		e.Now = func() time.Duration { return time.Since(base) }
	}
	e.dice = rand.New(rand.NewPCG(uint64(base.UnixNano()), 0))
	e.cur.Store(e.chunk(numberstore.Range{First: 1}, 0, 0))
	e.round.Store(&round{err: p.NotStarted, done: make(chan struct{})})
	e.stats.Step = p.Step
	return e
}

func (e *Issuer) chunk(r numberstore.Range, prior int64, born time.Duration) *chunk {
	c := &chunk{n: r.Len(), base: r.First - 1, prior: prior, born: born}
	switch {
	case e.MaxAge > 0 && c.n < 2:
		c.due = math.MaxInt64
	case e.MaxAge > 0:
		c.due = c.n / 2
	}
	return c
}

// ErrStarted is returned by a second Start.
var ErrStarted = errors.New("it has started before")

// Start makes e issue numbers until Close. It does no I/O. Errors: Stopped, ErrStarted.
func (e *Issuer) Start(ctx context.Context) error {
	e.life.Lock()
	defer e.life.Unlock()
	if err := e.Standing(); !errors.Is(err, e.NotStarted) {
		return cmp.Or(err, ErrStarted)
	}
	e.report(nil)
	if !e.Strict || e.Look {
		life, cancel := context.WithCancel(context.WithoutCancel(ctx))
		e.cancel = cancel
		e.running.Go(func() { e.prefetch(life, e.cur.Load()) })
	}
	return nil
}

// Reopen lets an Issuer that was closed start again.
func (e *Issuer) Reopen() {
	e.life.Lock()
	defer e.life.Unlock()
	if errors.Is(e.Standing(), e.Stopped) {
		e.report(e.NotStarted)
	}
}

// Close ends e, until Reopen. It discards numbers that are reserved but not issued.
func (e *Issuer) Close() {
	e.life.Lock()
	defer e.life.Unlock()
	if !errors.Is(e.Standing(), e.Stopped) {
		e.cancel()
		e.running.Wait()
		e.cur.Store(e.chunk(numberstore.Range{First: 1}, e.issued()+e.dropped.Load(), 0))
		e.report(e.Stopped)
	}
}

// Standing returns NotStarted, Stopped, or nil.
func (e *Issuer) Standing() error {
	if err := e.round.Load().err; errors.Is(err, e.NotStarted) || errors.Is(err, e.Stopped) {
		return err
	}
	return nil
}

// Take returns the next number if one is reserved.
func (e *Issuer) Take() (int64, bool) {
	c := e.cur.Load()
	if e.MaxAge > 0 && e.old(c) {
		return 0, false
	}
	k := c.used.Add(1)
	if k == c.due {
		e.wake()
	}
	return c.base + k, k <= c.n
}

// AtHand returns the next number if one is reserved. Otherwise it makes e reserve one, and
// returns the error of the last answer, or none if there is no error.
func (e *Issuer) AtHand(none error) (int64, error) {
	for {
		c := e.cur.Load()
		if n, ok := e.Take(); ok {
			return n, nil
		}
		t := e.round.Load() // before the chain, as in advance
		if e.move(c) {
			continue
		}
		t.short.CompareAndSwap(0, 1)
		e.wake()
		return 0, cmp.Or(t.err, none)
	}
}

// Fill fills dst with ascending numbers, which need not be consecutive. It waits until ctx ends.
// On error, dst is zeroed and the numbers taken for it are never issued. If Reset is called in the
// meantime, Fill starts again, because a copy of the process may have the same numbers.
func (e *Issuer) Fill(ctx context.Context, dst []int64) error {
	for rest, copies := dst, e.resets(); len(rest) > 0; {
		n, err := e.some(ctx, rest)
		if err != nil {
			clear(dst)
			return err
		}
		rest = rest[n:]
		if now := e.copies.Load(); now != copies {
			rest, copies = dst, e.resets()
		}
	}
	return nil
}

// some fills the beginning of dst and returns the number of numbers written, which may be 0.
func (e *Issuer) some(ctx context.Context, dst []int64) (n int64, err error) {
	if e.Strict {
		return e.ask(ctx, dst)
	}
	c := e.cur.Load()
	first, n := e.take(c, int64(len(dst)))
	if n == 0 {
		return 0, e.advance(ctx, c, int64(len(dst)), e.final(ctx))
	}
	for k := range dst[:n] {
		dst[k] = first + int64(k)
	}
	return n, nil
}

// take takes up to want numbers of c and returns the first one and their count.
func (e *Issuer) take(c *chunk, want int64) (first, n int64) {
	if c.used.Load() >= c.n || e.old(c) {
		return 0, 0 // so that retries do not increase used without limit
	}
	start := c.used.Add(want) - want
	if start < c.due && start+want >= c.due {
		e.wake()
	}
	return c.base + start + 1, max(0, min(want, c.n-start))
}

func (c *chunk) left() int64 { return max(0, c.n-c.used.Load()) }

func (e *Issuer) old(c *chunk) bool { return e.MaxAge > 0 && e.Now()-c.born > e.MaxAge }

// drop uses up c.
func (e *Issuer) drop(c *chunk) {
	for used := c.used.Load(); used < c.n; used = c.used.Load() {
		if c.used.CompareAndSwap(used, c.n) {
			e.dropped.Add(c.n - used)
		}
	}
}

// move makes the chunk after c the current one. It returns false if there is none yet.
func (e *Issuer) move(c *chunk) bool {
	next := c.next.Load()
	if next == nil {
		return false
	}
	e.drop(c)
	if e.cur.CompareAndSwap(c, next) { // fails if another caller was faster, or Close
		e.wake()
	}
	return true
}

func (e *Issuer) wake() {
	select {
	case e.kick <- struct{}{}:
	default:
	}
}

// First waits for the first numbers until ctx ends, or until an error is Final.
func (e *Issuer) First(ctx context.Context) error {
	if c := e.cur.Load(); c.n == 0 {
		return e.advance(ctx, c, 0, e.Final)
	}
	return nil
}

// advance returns when c, which is used up or old, is no longer the current chunk. lack is the
// number of numbers that the caller still needs.
func (e *Issuer) advance(ctx context.Context, c *chunk, lack int64, final func(error) bool) error {
	for waiting := false; ; {
		t := e.round.Load() // before the chain: the end of the round announces later links
		if e.move(c) {
			return nil
		}
		if t.err != nil && final(t.err) {
			return t.err
		}
		if !waiting && lack > 0 {
			waiting = true
			e.waits.Add(1)
		}
		t.short.Add(lack)
		e.wake()
		select {
		case <-t.done:
		case <-ctx.Done():
			t.short.Add(-lack)
			return e.ended(ctx, t.err)
		}
	}
}

// ask fills the beginning of dst with one reservation. It passes the numbers directly from the
// store to the caller, so that they are in the order of the reservations.
func (e *Issuer) ask(ctx context.Context, dst []int64) (n int64, err error) {
	err = e.Try(ctx, func() error {
		if err := e.Standing(); err != nil {
			return err
		}
		got, err := e.Ask(ctx, min(int64(len(dst)), e.Most))
		if err != nil {
			return err
		}
		n = got.Len()
		e.direct.Add(n)
		for k := range dst[:n] {
			dst[k] = got.First + int64(k)
		}
		return nil
	})
	return n, err
}

// final returns Final for a caller with ctx, which does not wait past its deadline.
func (e *Issuer) final(ctx context.Context) func(error) bool {
	return func(err error) bool {
		deadline, ok := ctx.Deadline()
		wait, _ := waitOf(err)
		return e.Final(err) || ok && wait > 0 && time.Until(deadline) < wait
	}
}

// Try repeats attempt until it succeeds, its error is final, or ctx ends.
func (e *Issuer) Try(ctx context.Context, attempt func() error) error {
	return e.try(ctx, e.final(ctx), attempt)
}

func (e *Issuer) try(ctx context.Context, final func(error) bool, attempt func() error) error {
	var why error // the last error before ctx ended
	for delay := firstRetry; ; delay = min(2*delay, e.Retry) {
		err := attempt()
		if err == nil || final(err) {
			return err
		}
		if ctx.Err() != nil {
			return e.ended(ctx, cmp.Or(why, err))
		}
		why = err
		select {
		case <-time.After(e.pause(err, delay)):
		case <-e.round.Load().done: // by Close
		case <-ctx.Done():
			return e.ended(ctx, err)
		}
	}
}

// pause returns how long to wait after err: the time that err includes, but not long, because
// somebody may correct the clock; or about delay.
func (e *Issuer) pause(err error, delay time.Duration) time.Duration {
	wait, _ := waitOf(err)
	e.mu.Lock()
	defer e.mu.Unlock()
	return cmp.Or(min(wait, lookTime), delay/2+time.Duration(e.dice.Int64N(int64(delay))))
}

// ended adds the cause of ctx to err, which is nil if there was no answer.
func (e *Issuer) ended(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", cmp.Or(err, e.Late), cause)
	}
	return err
}
