package segment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Issuer issues the numbers of a name. All methods are safe for concurrent use.
//
// Most callers want NextID, which is one atomic add while numbers are prefetched.
// NextIDs fills a slice, which is what bulk inserts want. NextIDWait waits where NextID
// gives up. Numbers rise within an Issuer; package segment says what is promised
// beyond.
type Issuer struct {
	cur   atomic.Pointer[chunk]
	cfg   Config
	store Store
	log   *slog.Logger

	turn   atomic.Pointer[turn]
	kick   chan struct{} // one element: the current chunk has changed
	cancel context.CancelFunc
	done   chan struct{} // closed when the goroutine has ended
	closed sync.Once

	short  atomic.Int64 // numbers that callers wait for
	waits  atomic.Int64
	above  atomic.Int64 // the greatest number that the store gave
	direct atomic.Int64 // numbers issued in strict order

	copies  atomic.Int64 // Resets
	dropped atomic.Int64 // numbers of the chain that a Reset gave up

	mu    sync.Mutex
	stats stats
}

// A chunk is a segment that was reserved, and a link of the chain.
type chunk struct {
	used  atomic.Int64 // of n; more than n where callers came too late
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

// Open returns an Issuer of the numbers that cfg names, and starts a goroutine that
// prefetches, until Close. It waits for the first numbers as long as ctx and tries again
// where the store fails; in strict order it asks for none.
//
// Errors: those of Config.Validate, ErrUnknown and ErrEnd at once; ErrUnavailable when
// ctx ends.
func Open(ctx context.Context, cfg Config, store Store, opts ...Option) (*Issuer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if store == nil {
		return nil, errors.New("segment: the store is nil: give one, from dbseq.NewSegments for example")
	}
	i := &Issuer{cfg: cfg.WithDefaults(), store: store, kick: make(chan struct{}, 1), done: make(chan struct{})}
	i.log = slog.New(slog.DiscardHandler)
	for _, opt := range opts {
		opt(i)
	}
	i.cur.Store(&chunk{})
	i.turn.Store(&turn{done: make(chan struct{})})
	i.stats.step = i.cfg.Step
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	i.cancel = cancel
	if i.strict() {
		close(i.done)
		return i, nil
	}
	first := i.cur.Load()
	go i.fill(life, first)
	if err := i.advance(ctx, first, 0, false); err != nil {
		return nil, errors.Join(fmt.Errorf("segment: open %q: %w", cfg.Name, err), i.Close())
	}
	return i, nil
}

// Close ends the Issuer and its goroutine. It gives nothing back: what was prefetched
// is issued by nobody. It does not close the store. The error is always nil.
func (i *Issuer) Close() error {
	i.closed.Do(func() {
		i.cancel()
		<-i.done
		i.cur.Store(&chunk{prior: i.consumed()})
		i.report(ErrClosed)
	})
	return nil
}

// NextID returns the next number. Where none is prefetched it waits for the store for
// up to Config.Wait, but not for a store that has failed just now.
//
// Errors: ErrUnavailable, ErrEnd, ErrUnknown, ErrClosed.
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

// NextIDWait returns the next number and waits for it as long as ctx.
//
// Errors: ErrEnd, ErrUnknown and ErrClosed at once; ErrUnavailable when ctx ends.
func (i *Issuer) NextIDWait(ctx context.Context) (int64, error) {
	var dst [1]int64
	err := i.issue(ctx, dst[:], false)
	return dst[0], err
}

// NextIDs fills dst with rising numbers, which need not be consecutive. It waits as
// NextIDWait does. On an error dst is all zero; the numbers that were taken for it are
// issued to nobody.
func (i *Issuer) NextIDs(ctx context.Context, dst []int64) error { return i.issue(ctx, dst, false) }

// issue fills dst, and gives up at the first failure of the store if it is hasty.
func (i *Issuer) issue(ctx context.Context, dst []int64, hasty bool) error {
	for rest := dst; len(rest) > 0; {
		c := i.cur.Load()
		first, n := c.take(int64(len(rest)))
		for k := range rest[:n] {
			rest[k] = first + int64(k)
		}
		if rest = rest[n:]; len(rest) == 0 {
			return nil
		}
		var err error
		if i.strict() {
			n, err = i.ask(ctx, rest, hasty)
			rest = rest[n:]
		} else {
			err = i.advance(ctx, c, int64(len(rest)), hasty)
		}
		if err != nil {
			clear(dst)
			return err
		}
	}
	return nil
}

// take reserves up to want numbers of c: n from first on.
func (c *chunk) take(want int64) (first, n int64) {
	if c.used.Load() >= c.n {
		return 0, 0 // whoever tries again and again does not make used grow without end
	}
	start := c.used.Add(want) - want
	return c.base + start + 1, max(0, min(want, c.n-start))
}

// left returns how many numbers of c are not issued.
func (c *chunk) left() int64 { return max(0, c.n-c.used.Load()) }

// move puts the chunk after c in its place. It reports false where there is none yet.
func (i *Issuer) move(c *chunk) bool {
	next := c.next.Load()
	if next == nil {
		return false
	}
	if i.cur.CompareAndSwap(c, next) { // not where another was faster, or Close
		select {
		case i.kick <- struct{}{}:
		default:
		}
	}
	return true
}

// advance returns when c, which is used up, is the current chunk no more. lack is how
// many numbers the caller still needs.
func (i *Issuer) advance(ctx context.Context, c *chunk, lack int64, hasty bool) error {
	for waiting := false; ; {
		t := i.turn.Load() // before the chain: its end tells of what is linked later
		if i.move(c) {
			return nil
		}
		if t.err != nil && (hasty || final(t.err)) {
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

// consumed returns how many numbers of the chain were issued.
func (i *Issuer) consumed() int64 {
	c := i.cur.Load()
	return c.prior + c.n - c.left() - i.dropped.Load()
}

func (i *Issuer) strict() bool { return i.cfg.Order == OrderStrict }

// pause waits for d, or until ctx ends.
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
