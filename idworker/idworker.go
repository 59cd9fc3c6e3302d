package idworker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/internal/bounded"
	"github.com/snowlease/snowlease/internal/source"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers/history"
)

// IdWorker is the worker of package snowlease. That package documents its methods NextID,
// NextIDWait, NextIDs, For, Status, Healthy, Reset, Close and others, and its errors, such as
// snowlease.ErrLeaseExpired. Get an IdWorker from Module, Named or Open.
type IdWorker = snowlease.Worker

// Open returns a worker that is ready to issue ids. It holds its worker id until Close:
//
//	w, err := idworker.Open(ctx, idworker.Config{Namespace: "orders"}, idworker.Clients{DB: db})
//	defer w.Close()
//
// Close also closes everything that Open opened, but no client or center of the caller. Open
// waits for a worker id as long as ctx and cfg.Wait allow. The first start in a namespace waits
// about 2.3 s with the defaults. snowlease.Init avoids that; mode local waits only without
// records. OpenNumbers opens Config.Segments and Config.Series.
//
// A program with a center and no configuration file uses snowlease.Open, which links less.
//
// Errors: an error that joins all problems of cfg, a missing or ambiguous client, and the errors
// of snowlease.Open for a center. After an error there is nothing to close.
func Open(ctx context.Context, cfg Config, clients Clients) (*IdWorker, error) {
	p, err := cfg.plan()
	if err != nil {
		return nil, err
	}
	b, err := p.build(clients.wiring())
	if err != nil {
		return nil, err
	}
	if err := b.start(ctx); err != nil {
		return nil, err
	}
	return b.worker, nil
}

// built is a worker that has not started, and its issuer of backdated ids.
type built struct {
	plan
	worker *IdWorker
	past   *history.Issuer
	none   error // why there is no issuer of backdated ids
	log    *slog.Logger
}

// build constructs a worker. It does no I/O.
func (p plan) build(o wiring) (*built, error) {
	if p.Lease.ShutdownOnLoss && o.shutdown == nil {
		return nil, errors.New(`snowlease: lease.shutdown_on_loss needs an fx application to end: leave it out, and watch Healthy`)
	}
	setup := source.Setup[snowlease.Status]{Name: keyOf, Advise: advise}
	var center lease.Center
	var err error
	switch {
	case p.Mode == ModeRedisSequence:
		setup.Source, err = newCounted(p, o)
	case o.Center != nil && p.Mode != ModeLocal:
		center = o.Center
	default:
		if center, err = p.newCenter(o); err == nil {
			setup.Free = center.Close
		}
	}
	if err != nil {
		return nil, fmt.Errorf("snowlease: %w", err)
	}
	return p.assemble(center, setup, o)
}

func (p plan) assemble(center lease.Center, setup source.Setup[snowlease.Status], o wiring) (*built, error) {
	cfg := p.core
	cfg.Logger = o.Logger
	if p.Lease.ShutdownOnLoss {
		cfg.OnLost = func(cause error) {
			// fx does not pass the error on, so log it.
			o.Logger.Error("idworker: shutting down: the lease was lost", "namespace", p.Namespace, "err", cause)
			go o.shutdown()
		}
	}
	w, err := snowlease.New(source.With[snowlease.Status]{Center: center, Setup: setup}, cfg)
	if err != nil {
		if setup.Free != nil {
			err = errors.Join(err, setup.Free())
		}
		return nil, err
	}
	b := &built{plan: p, worker: w, log: o.Logger}
	b.past, b.none = p.history(w)
	return b, nil
}

// start starts the worker, or closes it for good. It also records in the store from when
// backdated ids are counted; if that fails, start only logs the error.
func (b *built) start(ctx context.Context) error {
	if err := b.worker.Start(ctx); err != nil {
		return errors.Join(err, b.worker.Close()) // fx does not stop a hook that failed to start
	}
	if b.Reserved == 0 {
		return nil
	}
	err := b.none
	if err == nil {
		within, cancel := bounded.Start(ctx, min(b.Wait, 2*time.Second)) // other hooks need their time
		defer cancel()
		if _, err = b.past.Since(within); err != nil {
			err = fmt.Errorf("the next NextIDAt tries again: %w", err)
		}
	}
	if err != nil {
		b.log.Warn("no backdated ids", "namespace", b.Namespace, "reserved", b.Reserved, "err", err)
	}
	return nil
}

// advise adds to err when ids become available, if err concerns that.
func advise(err error) error {
	switch {
	case errors.Is(err, snowlease.ErrNotStarted):
		return fmt.Errorf("%w: ids are available from OnStart on, not in constructors or Invoke; list idworker.Module before modules that need ids", err)
	case errors.Is(err, snowlease.ErrClosed):
		return fmt.Errorf("%w: the worker was closed, or the application has stopped: list idworker.Module before modules whose stop hooks ask", err)
	}
	return err
}
