package idworker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/snowlease/snowlease/hostseq"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// IdWorker issues ids under a worker id of its own. The methods of its Stream issue ids
// with the business number Config.Business. All methods are safe for concurrent use. Get
// one from Module, Named, Open or Fixed: the zero IdWorker is not usable.
type IdWorker struct {
	Stream
	plan plan
	log  *slog.Logger
}

var _ snowflake.Source = (*IdWorker)(nil)

// Open returns a worker that is ready to issue ids. It holds its worker id until Stop:
//
//	w, err := idworker.Open(ctx, idworker.Config{Namespace: "orders"}, idworker.WithDB(db))
//	defer w.Stop(ctx)
//
// Open waits for a worker id as long as ctx and cfg.Wait allow. The first start in a
// namespace waits for Skew, 2 s by default, and a moment. Init of lease.Extras avoids that,
// and mode local has no such wait. It is an error to set Config.Segments, which only Module
// opens: use segment.Open.
//
// Errors: a *ConfigError for each fault of cfg, a missing or ambiguous client,
// *lease.NoFreeWorkerError, *lease.QuarantineError, *lease.MismatchError,
// *lease.ClockError, and other errors of the center. After an error there is nothing to
// stop.
func Open(ctx context.Context, cfg Config, opts ...Option) (*IdWorker, error) {
	p, err := cfg.plan()
	if err != nil {
		return nil, err
	}
	if len(cfg.Segments) > 0 {
		return nil, errors.New("idworker: open: segments are set, but only Module opens segments: use segment.Open, and give Open a Config without them")
	}
	w, err := newWorker(p, optionsOf(opts)) //nolint:contextcheck // newWorker does no I/O
	return started(ctx, w, err)
}

// Fixed returns a worker with the given worker id, for tests and laptops. It has no center:
// ids are unique only while no other worker has that worker id, in this process or another,
// and the host's clock does not step back across a restart. It fails if the layout is invalid or has no such worker
// id. The zero Layout is the default layout. Stop is optional.
func Fixed(layout snowflake.Layout, worker int64) (*IdWorker, error) {
	p, err := Config{Mode: ModeLocal, Layout: layout, Local: hostseq.Config{Worker: &worker}}.plan()
	if fault := new(ConfigError); errors.As(err, &fault) {
		fault.Key = strings.TrimPrefix(fault.Key, "local.") // the caller gave worker, not local.worker
		err = errors.New(fault.Text())
	}
	if err != nil {
		return nil, fmt.Errorf("idworker: fixed: %w", err)
	}
	src, err := newFixed(p)
	if err != nil {
		return nil, fmt.Errorf("idworker: fixed: %w", err)
	}
	w, err := workerOf(p, src, optionsOf(nil))
	return started(context.Background(), w, err)
}

// started starts w unless err is set.
func started(ctx context.Context, w *IdWorker, err error) (*IdWorker, error) {
	if err == nil {
		err = w.start(ctx)
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}

// newWorker returns a worker that has not started. It does no I/O.
func newWorker(p plan, o options) (*IdWorker, error) {
	if p.Lease.OnLost == OnLostShutdown && o.shutdown == nil {
		return nil, errors.New(`idworker: lease.on_lost "shutdown" needs an fx application to end: choose "continue" and watch Healthy`)
	}
	src, err := p.source(o)
	if err != nil {
		return nil, fmt.Errorf("idworker: %w", err)
	}
	return workerOf(p, src, o)
}

func (p plan) source(o options) (source, error) {
	if p.Mode == ModeRedisSequence {
		return newCounted(p, o)
	}
	if o.center != nil && p.Mode != ModeLocal {
		return newLeased(p, o.center, false, o)
	}
	center, err := p.newCenter(o)
	if err != nil {
		return nil, err
	}
	return newLeased(p, center, true, o)
}

func workerOf(p plan, src source, o options) (*IdWorker, error) {
	ids, err := src.stream(p.Business)
	var before past
	if err == nil {
		before, err = newPast(p, src)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("idworker: %w", err), src.stop(context.Background()))
	}
	return &IdWorker{Stream: *newStream(ids, src, before, new(batches)), plan: p, log: o.log}, nil
}

func (w *IdWorker) start(ctx context.Context) error {
	x := w.source.extras()
	for _, text := range x.Warnings {
		w.log.Warn("lease center", "center", x.Name, "warning", text)
	}
	if left := time.Until(w.plan.layout.Ends()); left < 5*snowflake.MinLife {
		w.log.Warn("the layout's time field ends within five years", "ends", w.plan.layout.Ends().UTC(), "layout", w.plan.layout.String())
	}
	facts, err := w.source.start(ctx)
	if err != nil {
		return fmt.Errorf("idworker: %w%s", err, w.plan.remedy(ctx, err))
	}
	if w.plan.Reserved > 0 {
		if err := w.past.start(ctx); err != nil {
			w.log.Warn("no ids for times past", "namespace", w.plan.Namespace, "reserved", w.plan.Reserved, "err", err)
		}
	}
	st := w.Status()
	w.log.Info("idworker started", append([]any{
		"worker", st.Worker, "namespace", st.Namespace, "center", st.Center, "state", st.State, "layout", st.Layout,
	}, facts...)...)
	return nil
}

// remedy returns advice for a start that failed because of a quarantine or of a center that
// is away. There is none for a caller who gave up.
func (p plan) remedy(ctx context.Context, err error) string {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ""
	}
	q, full := (*lease.QuarantineError)(nil), (*lease.NoFreeWorkerError)(nil)
	if away := net.Error(nil); !errors.As(err, &q) && !errors.As(err, &full) && errors.As(err, &away) {
		return fmt.Sprintf(": check that the server runs, and that this host reaches it at this address; a start waits for it for up to wait (%v)", p.Wait)
	}
	if q == nil || q.Wait() > 36*time.Hour { // too long to wait for: the error says what to do
		return ""
	}
	text := fmt.Sprintf(": start again then, or raise wait (%v) and the timeout of the start above that", p.Wait)
	if p.Store.ExactTimes {
		text += "; without exact_times it lends sooner"
	}
	return text
}

// Stop ends issuing for good, gives the worker id back and closes what Open opened. It
// does not close clients and centers that the caller gave. It interrupts a start or Reset
// under way. It takes up to 5 s, even if ctx has already ended. An error usually means that
// the worker id was not given back; it is free again once its lease expires. With Module
// and Named, fx calls Stop. A second Stop does nothing.
func (w *IdWorker) Stop(ctx context.Context) error { return w.source.stop(ctx) }

// Reset borrows another worker id, for a process that may have been copied together with its
// memory: a virtual machine restored from a snapshot, a checkpointed container, a function
// resumed from a frozen image. All copies hold the old worker id, so Reset abandons it
// without giving it back. Call it from the platform's resume hook, before the copy asks for
// an id or stops: Stop would give back what the original uses. Ask for no id until Reset
// returns. A call that waits when Reset begins shares nothing with a copy, but one that runs
// while the process is copied may return the same id in both. Reset waits as Open does.
// After an error, the worker keeps trying to borrow in the background.
//
// In mode redis-sequence, Reset discards the ids reserved ahead and returns no error. Reset
// does not reset segments in any mode: see Segments.Reset. Nor does it reach calls of
// NextIDAt and NextIDsAt: let none be under way when the process is copied.
//
// Errors: those of Open for a center; an error in mode local, for a Fixed worker, before the
// start and after Stop.
func (w *IdWorker) Reset(ctx context.Context) error {
	if err := w.source.reset(ctx); err != nil {
		return fmt.Errorf("idworker: reset: %w%s", err, w.plan.remedy(ctx, err))
	}
	return nil
}

// Layout returns the layout of the ids.
func (w *IdWorker) Layout() snowflake.Layout { return w.plan.layout }

// Decode returns the parts of an id of this layout. During a burst, an id's time runs up to
// Config.MaxAhead ahead of the clock. For a while after the first start of a namespace, or
// after the store lost records, it runs up to LeaseConfig.MaxTTL ahead: see
// StoreConfig.ExactTimes. Errors are those of snowflake.Layout.Decode.
func (w *IdWorker) Decode(id int64) (snowflake.Parts, error) { return w.plan.layout.Decode(id) }

// Encode returns the id of this layout with the given parts, for bounds of queries and for
// tests. The same id may also be issued. Errors are those of snowflake.Layout.Encode.
func (w *IdWorker) Encode(p snowflake.Parts) (int64, error) { return w.plan.layout.Encode(p) }
