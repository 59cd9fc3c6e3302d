package idworker

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"
	"go.uber.org/fx"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers"
	"github.com/snowlease/snowlease/numbers/history"
)

// Module provides *IdWorker to an fx application. The application supplies:
//   - a Config, as a value;
//   - the client for Config.Mode: a *gorm.DB or a redis.UniversalClient, or a lease.Center in
//     its place, such as from dbseq.Open; nothing in mode local;
//   - the client for Config.Segments and Series, where a numbers.Store takes precedence over a
//     center on dbseq, and that over a *gorm.DB;
//   - optionally a *slog.Logger. The default is slog.Default(): to log nothing, supply one with
//     slog.DiscardHandler.
//
// OnStart borrows the worker id within Config.Wait and the start's context, and OnStop releases
// it. The application closes the clients, the center and the store that it supplies. To fx, a
// center or a numbers.Store whose constructor lacks a dependency is absent, and another store
// takes its place: fx.Invoke(func(lease.Center, numbers.Store) {}) makes that an error. An
// application that does not depend on *IdWorker takes no lease. To use a worker that you created,
// such as with snowlease.Fixed in a test, add fx.Replace(worker) instead of a Config.
//
// Module also provides a *history.Issuer of backdated ids, for a Config with Reserved, and
// *Numbers for Config.Segments and Series.
var Module = fx.Module("idworker", fx.Provide(graph.build, fx.Private), fx.Provide(workerOf, issuerOf, provideNumbers))

func workerOf(b *built) *IdWorker { return b.worker }

func issuerOf(b *built) (*history.Issuer, error) { return b.past, b.none }

// A graph holds what an application may provide to fx. A nil client counts as missing.
type graph struct {
	fx.In

	Lifecycle  fx.Lifecycle
	Shutdowner fx.Shutdowner         `optional:"true"`
	Center     lease.Center          `optional:"true"`
	Numbers    numbers.Store         `optional:"true"`
	DB         *gorm.DB              `optional:"true"`
	Redis      redis.UniversalClient `optional:"true"`
	Logger     *slog.Logger          `optional:"true"`
}

func (c graph) wiring() wiring {
	o := Clients{DB: c.DB, Redis: c.Redis, Center: c.Center, Logger: cmp.Or(c.Logger, slog.Default())}.wiring()
	o.numbers = cmp.Or(c.Numbers, o.numbers)
	if c.Shutdowner != nil {
		o.shutdown = func() { _ = c.Shutdowner.Shutdown(fx.ExitCode(1)) }
	}
	return o
}

// build returns a worker that starts and stops with the application.
func (c graph) build(cfg Config) (*built, error) {
	p, err := cfg.plan()
	if err != nil {
		return nil, err
	}
	b, err := p.build(c.wiring())
	if err != nil {
		return nil, err
	}
	c.Lifecycle.Append(fx.Hook{OnStart: func(ctx context.Context) error {
		err := b.start(ctx)
		switch {
		case err != nil:
			b.log.Error("idworker did not start", "err", err) // with fx.NopLogger, fx logs nothing
		case c.DB != nil && c.DB.Plugins["idworker"] == nil: // the name of gormplugin's plugin
			b.log.Warn("idworker.GORM is not listed: no keys of GORM models are filled", "namespace", cfg.Namespace,
				"hint", "list it in the fx graph, or use gormplugin.New")
		}
		return err
	}, OnStop: func(context.Context) error { return b.worker.Close() }})
	return b, nil
}

// Named provides a second *IdWorker under a name, with a Config of its own:
//
//	fx.Options(idworker.Named("audit", idworker.Config{Namespace: "audit"}))
//
//	type Params struct {
//		fx.In
//		Worker *idworker.IdWorker `name:"audit"`
//	}
//
// It also provides a *history.Issuer under the name. It uses the same clients as Module. To lease
// from another database or Redis, give the worker a lease.Center of its own: see
// examples/more/center. It is an error to set Config.Segments or Series here: set them in the
// Config of Module.
func Named(name string, cfg Config) fx.Option {
	if len(cfg.Segments)+len(cfg.Series) > 0 {
		return fx.Error(fmt.Errorf("snowlease: named %q: only Module opens segments and series: set them in its Config, or use OpenNumbers", name))
	}
	tag := fx.ResultTags(fmt.Sprintf("name:%q", name))
	build := func(c graph) (*built, error) {
		b, err := c.build(cfg)
		if err != nil {
			return nil, fmt.Errorf("snowlease: worker %q: %w", name, err)
		}
		return b, nil
	}
	return fx.Module("idworker."+name, fx.Provide(build, fx.Private), fx.Provide(fx.Annotate(workerOf, tag), fx.Annotate(issuerOf, tag)))
}
