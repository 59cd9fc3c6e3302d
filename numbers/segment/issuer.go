package segment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/lease"
)

// Issuer issues the numbers of a name. All methods are safe for concurrent use.
//
// NextID suits most callers; it is one atomic add while numbers are prefetched. NextIDs
// fills a slice, for bulk inserts. NextIDWait waits where NextID fails. Numbers ascend
// within an Issuer; the package documentation states the other guarantees.
type Issuer struct {
	cur   atomic.Pointer[chunk]
	cfg   Config
	store Store
	log   *slog.Logger

	turn   atomic.Pointer[turn]
	kick   chan struct{} // one element: the current chunk has changed
	cancel context.CancelFunc
	done   chan struct{} // closed when the prefetching goroutine has ended
	life   sync.Mutex    // held by Start and by Close

	short  atomic.Int64 // how many numbers callers wait for
	waits  atomic.Int64
	above  atomic.Int64 // the greatest number from the store
	direct atomic.Int64 // numbers issued in strict order

	copies  atomic.Int64 // how often Reset was called, times two; odd while it runs, under mu
	dropped atomic.Int64 // numbers of the chain discarded by Reset

	mu    sync.Mutex
	stats stats
}

// A chunk is a reserved segment, linked to the next one.
type chunk struct {
	used  atomic.Int64 // exceeds n if callers came too late
	n     int64
	base  int64 // the numbers are base+1 to base+n
	prior int64 // numbers in the chunks before it
	next  atomic.Pointer[chunk]
}

// A turn lasts from one answer of the store to the next.
type turn struct {
	err  error // the answer that it began with
	done chan struct{}
}

// Open returns an Issuer of the numbers of cfg that has started: New, then Start. The
// caller closes it, and closes the store after it.
func Open(ctx context.Context, store Store, cfg Config, opts ...Option) (*Issuer, error) {
	i, err := New(store, cfg, opts...)
	if err == nil {
		err = i.Start(ctx)
	}
	if err != nil {
		return nil, err
	}
	return i, nil
}

// New returns an Issuer of the numbers of cfg. It issues none before Start, and New does
// not contact the store. Errors: those of Config.Validate, and one for a nil store.
func New(store Store, cfg Config, opts ...Option) (*Issuer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if fault.Nil(store) {
		return nil, errors.New("segment: the store is nil: give one, such as from dbseq.OpenSegments")
	}
	i := &Issuer{cfg: cfg.WithDefaults(), store: store, kick: make(chan struct{}, 1), done: make(chan struct{})}
	i.log = slog.New(slog.DiscardHandler)
	for _, opt := range opts {
		if opt == nil {
			continue
		}
		opt(i)
	}
	i.cur.Store(&chunk{})
	i.turn.Store(&turn{err: fmt.Errorf("segment: %q issues from Start on, which is OnStart with fx: %w", cfg.Name, ErrNotStarted), done: make(chan struct{})})
	i.stats.step = i.cfg.Step
	i.cancel = func() { close(i.done) }
	return i, nil
}

// Start starts a goroutine that prefetches until Close. It waits for the first numbers
// until ctx ends and retries if the store fails; after an error the Issuer is closed. In
// strict order it does not contact the store, so the first number shows whether the name
// exists. A second Start is an error and changes nothing.
//
// Errors: ErrUnknown, ErrEnd and ErrClosed, without waiting. ErrUnavailable when ctx
// ends, or at once with a lease.ErrSetup of the store, such as for a wrong password.
func (i *Issuer) Start(ctx context.Context) error {
	first := i.cur.Load()
	if err := i.begin(ctx, first); err != nil {
		return fmt.Errorf("segment: open %q: %w", i.cfg.Name, err)
	}
	if i.strict() {
		return nil
	}
	if err := i.advance(ctx, first, 0, false); err != nil {
		return errors.Join(fmt.Errorf("segment: open %q: %w", i.cfg.Name, err), i.Close())
	}
	return nil
}

func (i *Issuer) begin(ctx context.Context, first *chunk) error {
	i.life.Lock()
	defer i.life.Unlock()
	switch err := i.turn.Load().err; {
	case errors.Is(err, ErrClosed):
		return err
	case !errors.Is(err, ErrNotStarted):
		return errors.New("it has started before")
	}
	i.report(nil)
	if i.strict() {
		return nil
	}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	i.cancel = cancel
	go i.prefetch(life, first)
	return nil
}

// Close ends the Issuer and its goroutine. Prefetched numbers are not returned; they
// are never issued. Close does not close the store. It always returns nil.
func (i *Issuer) Close() error {
	i.life.Lock()
	defer i.life.Unlock()
	if !errors.Is(i.turn.Load().err, ErrClosed) {
		i.cancel()
		<-i.done
		i.cur.Store(&chunk{prior: i.consumed() + i.dropped.Load()})
		i.report(ErrClosed)
	}
	return nil
}

// NextID returns the next number. If none is prefetched, it waits for the store for up
// to Config.Wait, but not for a store that has just failed.
//
// Errors: ErrUnavailable, ErrEnd, ErrUnknown, ErrNotStarted, ErrClosed. The number is then
// 0.
func (i *Issuer) NextID() (int64, error) {
	c := i.cur.Load()
	if k := c.used.Add(1); k <= c.n {
		return c.base + k, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), i.cfg.Wait)
	defer cancel()
	var dst [1]int64
	err := i.issue(ctx, dst[:], true)
	return dst[0], err
}

// NextIDWait returns the next number and waits for it until ctx ends.
//
// Errors: ErrEnd, ErrUnknown, ErrNotStarted and ErrClosed, without waiting. When ctx ends,
// ErrUnavailable with the cause of ctx. The number is then 0.
func (i *Issuer) NextIDWait(ctx context.Context) (int64, error) {
	var dst [1]int64
	err := i.issue(ctx, dst[:], false)
	return dst[0], err
}

// NextIDs fills dst with ascending numbers, which need not be consecutive. It waits
// like NextIDWait and returns the same errors. On error, dst is zeroed and the numbers
// taken for it are never issued. If Reset is called meanwhile, NextIDs starts again, since a
// copy of the process may have what it has.
func (i *Issuer) NextIDs(ctx context.Context, dst []int64) error { return i.issue(ctx, dst, false) }

// issue fills dst. If hasty, it fails at the first failure of the store.
func (i *Issuer) issue(ctx context.Context, dst []int64, hasty bool) error {
	for rest, copies := dst, i.resets(); len(rest) > 0; {
		n, err := i.some(ctx, rest, hasty)
		if err != nil {
			clear(dst)
			return err
		}
		rest = rest[n:]
		if now := i.copies.Load(); now != copies {
			rest, copies = dst, i.resets()
		}
	}
	return nil
}

// some fills the beginning of dst and returns how many numbers that is. It may be 0.
func (i *Issuer) some(ctx context.Context, dst []int64, hasty bool) (n int64, err error) {
	if i.strict() {
		return i.ask(ctx, dst, hasty)
	}
	c := i.cur.Load()
	first, n := c.take(int64(len(dst)))
	if n == 0 {
		return 0, i.advance(ctx, c, int64(len(dst)), hasty)
	}
	for k := range dst[:n] {
		dst[k] = first + int64(k)
	}
	return n, nil
}

// take reserves up to want numbers of c and returns the first one and their count.
func (c *chunk) take(want int64) (first, n int64) {
	if c.used.Load() >= c.n {
		return 0, 0 // so that retries do not make used grow without end
	}
	start := c.used.Add(want) - want
	return c.base + start + 1, max(0, min(want, c.n-start))
}

func (c *chunk) left() int64 { return max(0, c.n-c.used.Load()) }

// move makes the chunk after c the current one. It returns false if there is none yet.
func (i *Issuer) move(c *chunk) bool {
	next := c.next.Load()
	if next == nil {
		return false
	}
	if i.cur.CompareAndSwap(c, next) { // fails if another caller was faster, or Close
		select {
		case i.kick <- struct{}{}:
		default:
		}
	}
	return true
}

// advance returns when c, which is used up, is no longer the current chunk. lack is how
// many numbers the caller still needs, which is none at the start.
func (i *Issuer) advance(ctx context.Context, c *chunk, lack int64, hasty bool) error {
	for waiting := false; ; {
		t := i.turn.Load() // before the chain: the end of the turn announces what is linked later
		if i.move(c) {
			return nil
		}
		starting := lack == 0
		if t.err != nil && (hasty || final(t.err) || starting && errors.Is(t.err, lease.ErrSetup)) {
			return unavailable(t.err)
		}
		if !waiting && lack > 0 {
			waiting = true
			i.waits.Add(1)
			i.short.Add(lack)
			defer i.short.Add(-lack)
		}
		select {
		case <-t.done:
		case <-ctx.Done():
			return unavailable(errors.Join(context.Cause(ctx), t.err))
		}
	}
}

func unavailable(err error) error {
	if final(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

func (i *Issuer) consumed() int64 {
	c := i.cur.Load()
	return c.prior + c.n - c.left() - i.dropped.Load()
}

func (i *Issuer) strict() bool { return i.cfg.Order == OrderStrict }

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
