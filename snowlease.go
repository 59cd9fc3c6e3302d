// Package snowlease issues unique, time-ordered 64-bit ids. Every process leases a snowflake
// worker id from the database, Redis or etcd that its service already runs. Ids stay unique
// through paused processes, clock steps, crashes and failovers.
//
// A center leases the worker ids:
//
//	center, err := dbseq.Open("mysql", dsn) // or redisseq.New(client), hostseq.New(cfg, layout)
//	w, err := snowlease.Open(ctx, center, snowlease.Config{Namespace: "orders"})
//	defer w.Close()
//	id, err := w.NextID()
//
// Tests and laptops use Fixed, which needs no center. Package idworker adapts this package to fx
// and opens the center that a configuration file names. Ids have gaps: do not use them where
// numbers must be consecutive.
//
// Open borrows a worker id from the center and renews the lease in the background. Close releases
// the worker id, so handle SIGTERM, for example with signal.NotifyContext. If no worker id is
// free, Open waits for Config.Wait and then fails. It never falls back to a default or shared
// worker id. The first ids of a namespace carry times up to Config.MaxTTL ahead, 30 s by default,
// until the clock has caught up. Worker.Decode returns the time, worker id and sequence of an id.
//
// While the center is unreachable, ids continue to the ceiling of the lease: the latest time that
// they may carry, Config.TTL after the last renewal. Then NextID returns ErrLeaseExpired until
// the center is back. If a lease is lost, the process borrows another worker id.
//
// Package lease describes the protocol, the threats it covers and those it does not.
package snowlease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/internal/source"
	"github.com/snowlease/snowlease/lease"
)

// Open returns a worker that is ready to issue ids. The worker holds its worker id until Close,
// even after ctx has ended. The caller closes the center after the worker.
//
// Open waits for a worker id as long as ctx and cfg.Wait allow, and then returns an error that
// wraps the cause. The first start in a namespace waits about 2.3 s with the defaults: see Init.
//
// Errors, for errors.As and errors.Is: an error that joins all problems of cfg;
// *lease.NoFreeWorkerError, *lease.QuarantineError, *lease.MismatchError, *lease.ClockError;
// lease.ErrSetup if another attempt cannot succeed, such as for a missing right or a wrong
// password; lease.ErrDamaged; and other errors of the center. After an error there is nothing to
// close.
func Open(ctx context.Context, center lease.Center, cfg Config) (*Worker, error) {
	w, err := New(center, cfg)
	if err != nil {
		return nil, err
	}
	if err := w.Start(ctx); err != nil {
		return nil, err
	}
	return w, nil
}

// Init creates the namespace of cfg, which no process may have used before. The first start then
// does not wait, and ids carry no times ahead of the clock. If the namespace was used and its
// records were lost, Init causes duplicate ids.
//
// Errors: an error that joins all problems of cfg; lease.ErrExists if the center has any record
// of the namespace; errors.ErrUnsupported for a center without Init, such as a center of hostseq;
// and other errors of the center.
func Init(ctx context.Context, center lease.Center, cfg Config) error {
	f := &fault.List{In: "snowlease: config"}
	_, req := cfg.plan(f, itself, true)
	if err := f.Err(); err != nil {
		return err
	}
	init := center.Extras().Init
	if init == nil {
		return fmt.Errorf("snowlease: init: %w: %s creates no namespaces", errors.ErrUnsupported, lease.Name(center))
	}
	req.CallerTime = time.Now().UnixMilli()
	if err := init(ctx, req); err != nil {
		return fmt.Errorf("snowlease: init: %w", err)
	}
	return nil
}

// New returns a worker that Worker.Start starts, for programs that construct all their parts
// before they start any. It does no I/O. Its error joins all problems of cfg.
func New(center lease.Center, cfg Config) (*Worker, error) {
	with, ok := center.(source.With[Status]) // a source from another package of this module
	if !ok {
		with.Center = center
	}
	center, s := with.Center, with.Setup
	if s.Name == nil {
		s.Name = itself
	}
	f := &fault.List{In: "snowlease: config"}
	cfg, req := cfg.plan(f, s.Name, s.Source == nil)
	err := f.Err()
	if s.Source == nil && fault.Nil(center) {
		err = errors.Join(errors.New("snowlease: the center is nil: give one, such as from dbseq.Open, redisseq.New or hostseq.New"), err)
	}
	if err != nil {
		return nil, err
	}
	w := &Worker{cfg: cfg, pool: Pool{Size: req.Pool, First: req.First, Last: req.Last}, center: center, setup: s, source: s.Source}
	if w.source == nil {
		w.source = newLeased(center, cfg, req)
	}
	own, err := w.For(cfg.Business)
	if err != nil {
		return nil, err
	}
	w.own = *own
	return w, nil
}
