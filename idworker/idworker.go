package idworker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/keeper"
	"github.com/snowlease/snowlease/snowflake"
)

// IdWorker issues ids under a worker id of its own. All methods are safe for
// concurrent use.
//
// Most callers want NextID, which takes about as long as reading a clock. NextIDs
// fills a slice by one reservation. NextIDWait waits where NextID gives up.
type IdWorker struct {
	gen    *snowflake.Generator
	ids    snowflake.Stream // of gen, for a business number
	seq    *sequence        // mode redis-sequence, in the place of gen, ids, center and keeper; else nil
	plan   plan
	center lease.Center   // nil: fixed
	keeper *keeper.Keeper // nil: fixed
	past   *past          // never nil
	sizes  *batches
	owned  io.Closer // the center, where it was made here
	shared bool      // another's worker id, for a business number
	log    *slog.Logger
}

// An Option sets a knob of Open and OpenSequence.
type Option func(*options)

type options struct{ log *slog.Logger }

// WithLogger sets where log events go; docs/operations.md lists them. Default, also for
// nil: nowhere.
func WithLogger(log *slog.Logger) Option { return func(o *options) { o.log = log } }

func optionsOf(opts []Option) (o options) {
	for _, set := range opts {
		set(&o)
	}
	return o
}

// Open borrows a worker id from center and returns a worker that keeps it until
// Close. It waits within ctx and cfg.Wait. Close leaves center open. Mode local needs
// no center: it is nil then. Config.Segments are opened by segment.Open, not here.
//
// Errors: a fault of cfg; *NoFreeWorkerError, *QuarantineError, *MismatchError,
// *ClockError; whatever the center met, with its name.
func Open(ctx context.Context, cfg Config, center lease.Center, opts ...Option) (*IdWorker, error) {
	p, err := cfg.plan()
	if err != nil {
		return nil, err
	}
	switch {
	case p.Mode == ModeRedisSequence:
		return nil, errors.New("idworker: open: mode redis-sequence takes a Redis client in the place of a center: use OpenSequence")
	case p.Mode == ModeLocal && center != nil:
		return nil, fmt.Errorf("idworker: open: mode local takes no center, and %s is given: pass nil, or set another mode", lease.Name(center))
	case p.Mode != ModeLocal && center == nil:
		return nil, errors.New("idworker: open: the center is nil: pass dbseq.New(db) or redisseq.New(client), or set mode local")
	}
	if p.OnLost == OnLostShutdown {
		return nil, errors.New(`idworker: open: on_lost "shutdown" ends an fx application, and there is none: choose "continue" and watch Healthy`)
	}
	var owned io.Closer
	if p.Mode == ModeLocal {
		if center, err = newLocal(cfg); err != nil {
			return nil, err
		}
		owned, _ = center.(io.Closer)
	}
	w, err := build(p, center, optionsOf(opts).log, nil)
	if err == nil {
		w.owned = owned
		err = w.start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, closeOwned(owned))
	}
	return w, nil
}

// Fixed returns a worker with a worker id that was set by hand, for tests and
// laptops. It has no center: ids are unique only as long as no other process has
// that worker id, and the clock of the host does not step back across a restart.
func Fixed(layout snowflake.Layout, worker int64) (*IdWorker, error) {
	p, err := Config{Mode: ModeLocal, Layout: layout, Worker: &worker}.plan()
	if err != nil {
		return nil, fmt.Errorf("idworker: fixed: %w", err)
	}
	p.fixed = true
	w, err := build(p, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	if err := w.start(context.Background()); err != nil {
		return nil, err
	}
	return w, nil
}

func build(p plan, center lease.Center, log *slog.Logger, onLost func(error)) (*IdWorker, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	gen, err := snowflake.NewGenerator(p.layout, p.options...)
	if err != nil {
		return nil, err
	}
	w := &IdWorker{gen: gen, plan: p, sizes: new(batches), log: log}
	if w.ids, err = gen.For(p.Business); err != nil {
		return nil, err
	}
	if w.past, err = newPast(p, center); err != nil {
		return nil, err
	}
	if p.fixed {
		return w, nil
	}
	w.center = center
	w.keeper, err = keeper.New(keeper.Config{
		Center: center, Generator: gen, Request: p.request, Schedule: p.schedule, Wait: p.Wait,
		ExactTimes: p.ExactTimes, OnLost: onLost, Logger: log,
	})
	return w, err
}

func (w *IdWorker) start(ctx context.Context) error {
	if w.plan.fixed {
		now := time.Now().UnixMilli()
		_, err := w.gen.Adopt(snowflake.Range{
			Worker: *w.plan.Worker, Floor: now - 1, Ceiling: w.plan.layout.Ends().UnixMilli() - 1, Now: now, At: w.gen.Elapsed(),
		})
		return err
	}
	if c, ok := w.source().(interface{ Warnings() []string }); ok {
		for _, text := range c.Warnings() {
			w.log.Warn("lease center", "center", w.Status().Center, "warning", text)
		}
	}
	if left := time.Until(w.plan.layout.Ends()); left < 5*snowflake.MinLife {
		w.log.Warn("the layout's time field ends within five years", "ends", w.plan.layout.Ends().UTC(), "layout", w.plan.layout.String())
	}
	if p := w.plan; w.keeper != nil && p.renewGiven && sparse(p.schedule, time.Now(), p.TTL/3) {
		w.log.Warn("renew is sparser than a third of ttl, after which the lease is renewed in any case", "renew", p.Renew, "ttl", p.TTL)
	}
	if err := w.borrow(ctx); err != nil {
		return fmt.Errorf("idworker: %w%s", err, w.plan.remedy(err))
	}
	w.startPast(ctx)
	st := w.Status()
	args := []any{"worker", st.Worker, "namespace", st.Namespace, "center", st.Center, "state", st.State}
	if w.seq == nil { // whose one number any number of replicas share
		args = append(args, "pool", fmt.Sprintf("%d-%d of %d", st.Pool.First, st.Pool.Last, st.Pool.Size), "good_for_replicas", st.Pool.Replicas())
	}
	if ahead := st.Floor.Sub(st.Now); ahead > 0 && w.keeper != nil {
		args = append(args, "ids_ahead", ahead.Round(time.Millisecond)) // until the clock has caught up
	}
	w.log.Info("idworker started", append(args, "layout", st.Layout)...)
	return nil
}

func (w *IdWorker) borrow(ctx context.Context) error {
	if w.seq != nil {
		return w.seq.start(ctx, w.plan)
	}
	return w.keeper.Start(ctx)
}

// remedy is what to do about a quarantine that a start did not outlast.
func (p plan) remedy(err error) string {
	q := (*QuarantineError)(nil)
	if !errors.As(err, &q) || q.Wait() > 36*time.Hour { // which no wait outlasts: the error says so
		return ""
	}
	text := fmt.Sprintf(": start again then, or raise wait (%v) and the timeout of the start above that", p.Wait)
	if p.ExactTimes {
		text += "; without exact_times it lends sooner"
	}
	return text
}

// source is where worker ids or ids come from.
func (w *IdWorker) source() any {
	if w.seq != nil {
		return w.seq.whole
	}
	return w.center
}

// Close gives the worker id back: renewing ends, then issuing, for good. It takes at
// most 5 s, even if ctx has ended, and ends a start or a Reset that is under way. The
// error says that the worker id was not given back; it is then free when its lease
// expires. A second Close does nothing, and neither does that of a worker made by For.
func (w *IdWorker) Close(ctx context.Context) error {
	if w.shared {
		return nil
	}
	var err error
	switch {
	case w.seq != nil:
		w.seq.whole.Close()
	case w.keeper == nil:
		w.gen.Stop()
	default:
		err = w.keeper.Stop(ctx)
	}
	return errors.Join(err, closeOwned(w.owned))
}

// Reset borrows another worker id for a process that may have been copied with its
// memory: a virtual machine restored from a snapshot, a checkpointed container, a
// function started from a frozen one. Its copies hold the same worker id, which is
// forgotten and not given back. Call it after the copy wakes and before it asks for
// an id: from the hook that the platform has for this. Ids stop until it returns; it
// waits as the start does. After an error the worker goes on to ask for a worker id.
//
// Errors: as of the start; mode local, not started, stopped. In mode redis-sequence it
// drops what was reserved ahead, and there is no error. Segments are not reset: see
// package segment.
func (w *IdWorker) Reset(ctx context.Context) error {
	if w.plan.Mode == ModeLocal {
		return errors.New("idworker: reset: mode local: copies of a process have the same number, host name and disk: give each a worker id of its own, or use a center")
	}
	if w.seq != nil { // what was reserved ahead is all that copies share
		w.seq.whole.Reset()
		return nil
	}
	if err := w.keeper.Reset(ctx); err != nil {
		return fmt.Errorf("idworker: reset: %w%s", err, w.plan.remedy(err))
	}
	return nil
}

// NextID returns the next id, which is greater than all that were issued before in
// this process. It does no I/O, takes no lock and allocates nothing. Where a burst
// has used up its lead over the clock it sleeps for at most one tick. In mode
// redis-sequence it may call Redis, for up to 2 s.
//
// Errors: ErrNotStarted, ErrLeaseExpired, ErrStopped, ErrExhausted; in mode
// redis-sequence also *QuarantineError by itself, and whatever Redis answered. The id is
// then 0.
func (w *IdWorker) NextID() (int64, error) {
	if w.seq != nil {
		return w.seq.NextID()
	}
	id, err := w.ids.NextID()
	if err != nil {
		return 0, w.explain(err)
	}
	return id, nil
}

// NextIDWait returns the next id and waits for it as long as ctx: for the lead of a
// burst, and for the renewal of a lease that has expired.
//
// Errors: ErrNotStarted and ErrStopped at once; when ctx ends its error together
// with ErrLeaseExpired or ErrExhausted. The id is then 0.
func (w *IdWorker) NextIDWait(ctx context.Context) (int64, error) {
	if w.seq != nil {
		return w.seq.NextIDWait(ctx)
	}
	id, err := w.ids.NextIDWait(ctx)
	if err != nil {
		return 0, w.explain(err)
	}
	return id, nil
}

// NextIDs fills dst with rising ids by one reservation (several, for more ids than
// MaxAhead holds). It waits as NextIDWait does. On an error dst is all zero.
func (w *IdWorker) NextIDs(ctx context.Context, dst []int64) error {
	var err error
	if w.seq != nil {
		err = w.seq.NextIDs(ctx, dst)
	} else if err = w.ids.NextIDs(ctx, dst); err != nil {
		err = w.explain(err)
	}
	if err != nil {
		return err
	}
	w.sizes.add(len(dst))
	return nil
}

// For returns a worker whose ids carry a business number, 0 to 2^BusinessBits - 1 of
// the layout. It shares w's worker id, sequence and life: it has no OnStart of its
// own, and its Close does nothing. Ids of one business number rise; those of
// different ones rise from tick to tick.
func (w *IdWorker) For(business int64) (*IdWorker, error) {
	bound := *w
	bound.shared, bound.plan.Business = true, business
	var err error
	if w.seq != nil {
		bound.seq, err = w.seq.bound(business)
	} else {
		bound.ids, err = w.gen.For(business)
	}
	if err == nil {
		bound.past, err = w.past.bound(business)
	}
	if err != nil {
		return nil, fmt.Errorf("idworker: %w", err)
	}
	return &bound, nil
}

// NextIDFor is NextID for a business number: see For, which checks it once.
func (w *IdWorker) NextIDFor(business int64) (int64, error) {
	if w.seq != nil {
		s, err := w.seq.bound(business)
		if err != nil {
			return 0, fmt.Errorf("idworker: %w", err)
		}
		return s.NextID()
	}
	ids, err := w.gen.For(business)
	if err != nil {
		return 0, fmt.Errorf("idworker: %w", err)
	}
	id, err := ids.NextID()
	if err != nil {
		return 0, w.explain(err)
	}
	return id, nil
}

// explain adds what the keeper knows to an error of the generator.
func (w *IdWorker) explain(err error) error {
	if w.keeper == nil {
		return err
	}
	if cause := w.keeper.Status().Err; cause != nil && (errors.Is(err, ErrNotStarted) || errors.Is(err, ErrLeaseExpired)) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// Layout returns the layout of the ids.
func (w *IdWorker) Layout() snowflake.Layout { return w.plan.layout }

// Decode takes an id of this layout apart. Its time is ahead of the clock by up to
// Config.MaxAhead in a burst, and by up to MaxTTL for a while after the first start of a
// namespace or a loss of the store's records: see Config.ExactTimes.
func (w *IdWorker) Decode(id int64) (snowflake.Parts, error) { return w.plan.layout.Decode(id) }

// Encode puts an id of this layout together. Nothing keeps it from being an id that
// is issued too: it is for bounds of queries and for tests.
func (w *IdWorker) Encode(p snowflake.Parts) (int64, error) { return w.plan.layout.Encode(p) }
