package snowlease

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"sync/atomic"
	"time"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/settings"
	"github.com/snowlease/snowlease/internal/source"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// A Worker issues ids with a worker id that no other process uses at the same time. Its methods
// issue ids with the business number Config.Business; For returns a Stream for another one. All
// methods are safe for concurrent use. Get a Worker from Open, New or Fixed, or from package
// idworker: the zero Worker is not usable.
//
// Most callers want NextID, which takes about as long as reading a clock, and less at high rates.
// NextIDs fills a slice with a single reservation. NextIDWait waits where NextID returns an
// error.
type Worker struct {
	own    Stream
	cfg    Config // with defaults applied
	pool   Pool
	center lease.Center // nil if the ids come from another source
	source source.Source[Status]
	setup  source.Setup[Status]
	sizes  batches
	closed atomic.Bool // setup.Free was called after the last start
}

var _ snowflake.Source = (*Worker)(nil)

// NextID returns the next id, which is greater than all ids with the same business number that
// this worker issued before the call. It does no I/O, takes no lock and allocates nothing. If a
// burst has reached Config.MaxAhead, it sleeps for at most one tick of the layout. If Redis
// counts the ids (mode redis-sequence of package idworker), NextID returns only ids that are
// reserved ahead. At a low rate there are none: use NextIDWait.
//
// Errors: ErrNotStarted, ErrLeaseExpired, ErrClosed, ErrExhausted; in mode redis-sequence also
// *lease.QuarantineError, the last error of Redis, and errors.ErrUnsupported if ids are in strict
// order. On error, the id is 0.
func (w *Worker) NextID() (id int64, err error) {
	if s := &w.own; s.gen != (generator.Stream{}) { // the same as Stream.NextID, but without another call
		id, err = s.gen.NextID()
	} else {
		id, err = s.ids.NextID()
	}
	if err != nil {
		return 0, w.explain(err)
	}
	return id, nil
}

// NextIDWait returns the next id. It waits, until there is one or ctx ends, after a burst, while
// the lease has expired, and while the worker borrows another worker id after a loss or a Reset.
// In mode redis-sequence, it also waits for Redis and for the end of a quarantine, and returns
// immediately if the deadline of ctx is earlier than that end. In a handler, give ctx a timeout:
// an outage of the center can outlast a request.
//
// Errors: ErrNotStarted before the start and ErrClosed, both immediately; when ctx ends, its
// cause together with ErrLeaseExpired, ErrExhausted or, after a Reset, ErrNotStarted; in mode
// redis-sequence also *lease.QuarantineError and errors of Redis. On error, the id is 0.
func (w *Worker) NextIDWait(ctx context.Context) (int64, error) { return w.own.NextIDWait(ctx) }

// NextIDs fills dst with ascending ids. It reserves the whole batch at once if the batch fits
// within Config.MaxAhead. It waits like NextIDWait and returns the same errors. On error, dst is
// zeroed, and the reserved ids are discarded.
func (w *Worker) NextIDs(ctx context.Context, dst []int64) error { return w.own.NextIDs(ctx, dst) }

// explain adds the cause or a remedy to an error of NextID.
func (w *Worker) explain(err error) error {
	if why := w.source.Explain(err); why != err || w.setup.Advise == nil { //nolint:errorlint // whether the source adds something
		return why
	}
	return w.setup.Advise(err)
}

// Layout returns the layout of the ids.
func (w *Worker) Layout() snowflake.Layout { return w.cfg.Layout }

// Center returns the center that leases worker ids to w. It is nil for a Fixed worker and in mode
// redis-sequence.
func (w *Worker) Center() lease.Center { return w.center }

// Decode returns the parts of an id with the worker's layout. During a burst, an id's time runs
// up to Config.MaxAhead ahead of the clock. For a while after the first start of a namespace, or
// after the center lost records, it runs up to Config.MaxTTL ahead: see Config.ExactTimes. Errors
// are those that snowflake.Layout.Decode returns.
func (w *Worker) Decode(id int64) (snowflake.Parts, error) { return w.cfg.Layout.Decode(id) }

// Encode returns the id with the given parts in the worker's layout, for bounds of queries and
// for tests. The worker may also issue the same id. Errors are those that snowflake.Layout.Encode
// returns.
func (w *Worker) Encode(p snowflake.Parts) (int64, error) { return w.cfg.Layout.Encode(p) }

// Start borrows the worker id of a worker that New returned. It waits like Open, and ends
// slightly before ctx does, so that its error reaches a caller that gives up at the deadline.
// After an error the worker holds nothing and may be started again. It may also be started again
// after Close: its ids then ascend from the previous ones, and its Streams continue. While it
// leases, a second Start is an error and changes nothing.
//
// Errors: the same as Open, except for problems of a Config.
func (w *Worker) Start(ctx context.Context) error {
	x, log := w.source.Extras(), w.cfg.Logger
	for _, text := range x.Warnings {
		log.Warn("lease center", "center", x.Name, "warning", text)
	}
	if left := time.Until(w.cfg.Layout.Ends()); left < 5*snowflake.MinLife {
		log.Warn("the layout's time field ends within five years", "ends", w.cfg.Layout.Ends().UTC(), "layout", w.cfg.Layout.String())
	}
	if text := settings.FewIDs(w.cfg.Layout); text != "" {
		log.Warn("the layout has few ids", "hint", text, "layout", w.cfg.Layout.String())
	}
	w.closed.Store(false)
	facts, err := w.source.Start(ctx)
	if err != nil {
		return fmt.Errorf("snowlease: %w%s", err, w.remedy(ctx, err))
	}
	st := w.Status()
	log.Info("idworker started", append([]any{
		"worker", st.Worker, "namespace", st.Namespace, "center", st.Center, "state", st.State, "layout", st.Layout,
	}, facts...)...)
	return nil
}

// remedy returns advice for a start that failed because of a quarantine or of a center that is
// down. It returns none if the caller canceled ctx.
func (w *Worker) remedy(ctx context.Context, err error) string {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ""
	}
	q, full, wait := (*lease.QuarantineError)(nil), (*lease.NoFreeWorkerError)(nil), w.setup.Name("Wait")
	away, file := net.Error(nil), (*fs.PathError)(nil) // a file's syscall.Errno is a net.Error
	if !errors.As(err, &q) && !errors.As(err, &full) && errors.As(err, &away) && !errors.As(err, &file) {
		return fmt.Sprintf(": check that the server runs, and that this host reaches it at this address; a start waits for it for up to %s (%v)", wait, w.cfg.Wait)
	}
	if q == nil || q.Wait() > 36*time.Hour { // too long to wait for; the error names a remedy
		return ""
	}
	text := fmt.Sprintf(": start again then, or raise %s (%v) and the timeout of the start above that", wait, w.cfg.Wait)
	if w.cfg.ExactTimes {
		text += "; without " + w.setup.Name("ExactTimes") + " it lends sooner"
	}
	return text
}

// Close stops issuing ids and releases the worker id. It interrupts a start or Reset in progress.
// It tries for up to 5 s. After an error, the worker id may stay leased until its lease ends.
// Close does not close a center that the caller provided. A second Close does nothing.
func (w *Worker) Close() error {
	err := w.source.Close()
	if w.setup.Free != nil && !w.closed.Swap(true) {
		err = errors.Join(err, w.setup.Free())
	}
	return err
}

// Reset borrows another worker id, for a process that may have been copied together with its
// memory: a virtual machine restored from a snapshot, a checkpointed container, a function
// resumed from a frozen image. All copies hold the old worker id, so Reset abandons it without
// releasing it. Call Reset from the platform's resume hook, before the copy requests an id or
// closes the worker: Close would release the worker id that the original uses. Request no id
// until Reset returns. A call that waits when Reset begins shares nothing with a copy, but a call
// that runs while the process is copied may return the same id in both. Reset waits like Open.
// After an error, the worker keeps trying to borrow in the background.
//
// In mode redis-sequence, Reset discards the ids that are reserved ahead and returns no error. It
// affects only the ids of this worker: see also Numbers.Reset of package idworker, and let no
// call of a history.Issuer be in progress when the process is copied.
//
// Errors: the same as Open, except for problems of a Config; and an error for a center whose
// worker ids belong to a host or a file, for a Fixed worker, before the start, and after Close.
func (w *Worker) Reset(ctx context.Context) error {
	if err := w.source.Reset(ctx); err != nil {
		return fmt.Errorf("snowlease: reset: %w%s", err, w.remedy(ctx, err))
	}
	return nil
}
