package idworker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"

	"github.com/redis/go-redis/v9"
	"go.uber.org/fx"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/lease"
)

// Module provides *IdWorker to an fx application, which supplies a Config and one
// of *gorm.DB, redis.UniversalClient, *redis.Client or lease.Center. It invokes
// nothing: an application that asks for no ids takes no lease.
//
// OnStart borrows the worker id within the start's context; OnStop gives it back.
//
// It provides *Segments as well, for Config.Segments. Beside these it provides the worker
// as the unnamed interface type, and the segments as the unnamed function type, that
// gormplugin.Module asks for.
var Module = fx.Module("idworker", fx.Provide(New, generator, NewSegments, generators))

// generator is the worker as gormplugin.Module asks for it: by a type without a
// name, so that neither package imports the other.
func generator(w *IdWorker) interface {
	NextIDs(ctx context.Context, dst []int64) error
} {
	return w
}

// generators is the segments as gormplugin.Module asks for them.
func generators(s *Segments) func(name string) (interface {
	NextIDs(ctx context.Context, dst []int64) error
}, error) {
	return func(name string) (interface {
		NextIDs(ctx context.Context, dst []int64) error
	}, error,
	) {
		return s.Of(name)
	}
}

// Params is what New takes from fx.
type Params struct {
	fx.In

	Config     Config  `optional:"true"` // without one New fails
	Pointer    *Config `optional:"true"` // another type for fx: to say so
	Lifecycle  fx.Lifecycle
	Shutdowner fx.Shutdowner `optional:"true"`

	Center lease.Center `optional:"true"` // comes before Config.Mode
	Clients
}

// Clients are the stores that an application may have. A nil client counts as none.
type Clients struct {
	fx.In

	DB          *gorm.DB              `optional:"true"`
	Redis       redis.UniversalClient `optional:"true"`
	RedisClient *redis.Client         `optional:"true"`
	Logger      *slog.Logger          `optional:"true"`
}

// New returns a worker that borrows its worker id when p.Lifecycle starts. Without
// fx use Open.
func New(p Params) (*IdWorker, error) {
	if reflect.ValueOf(p.Config).IsZero() {
		if p.Pointer != nil {
			return nil, errors.New("idworker: new: the fx graph has a *idworker.Config, which is another type than idworker.Config: supply the value, fx.Supply(*cfg)")
		}
		return nil, errors.New(`idworker: new: there is no idworker.Config in the fx graph, or an empty one: fx.Supply(idworker.Config{Namespace: "orders"}), with what names the replicas of one service`)
	}
	pl, err := p.Config.plan()
	if err != nil {
		return nil, err
	}
	if p.Lifecycle == nil {
		return nil, errors.New("idworker: new: Params.Lifecycle is nil: give fx's, or use Open")
	}
	if pl.OnLost == OnLostShutdown && p.Shutdowner == nil {
		return nil, errors.New(`idworker: new: on_lost "shutdown" needs Params.Shutdowner`)
	}
	if p.Logger == nil {
		p.Logger = slog.New(slog.DiscardHandler)
	}
	w, err := p.build(pl)
	if err != nil {
		return nil, err
	}
	owned := w.owned
	p.Lifecycle.Append(fx.Hook{
		OnStart: func(ctx context.Context) error {
			err := w.start(ctx)
			if err != nil { // fx stops no hook that failed to start
				err = errors.Join(err, closeOwned(owned))
			}
			return err
		},
		OnStop: w.Close,
	})
	return w, nil
}

// build makes the worker and what it borrows from, which connects to nothing yet.
func (p Params) build(pl plan) (*IdWorker, error) {
	if pl.Mode == ModeRedisSequence {
		client, err := p.client()
		if err == nil && client == nil {
			err = fmt.Errorf("mode %s: there is no redis.UniversalClient or *redis.Client: %s", pl.Mode, absent)
		}
		if err != nil {
			return nil, fmt.Errorf("idworker: %w", err)
		}
		return buildSequence(pl, client, p.Logger)
	}
	center := p.Center
	var owned io.Closer
	if center == nil || pl.Mode == ModeLocal {
		var err error
		if center, err = NewCenter(CenterParams{Config: p.Config, Clients: p.Clients}); err != nil {
			return nil, err
		}
		owned, _ = center.(io.Closer)
	}
	w, err := build(pl, center, p.Logger, func(cause error) {
		if pl.OnLost != OnLostShutdown {
			return
		}
		// fx hands no error on, so the log has to tell.
		p.Logger.Error("idworker: shutting down: on_lost is shutdown", "namespace", pl.Namespace, "err", cause)
		go func() { _ = p.Shutdowner.Shutdown(fx.ExitCode(1)) }()
	})
	if err != nil {
		return nil, errors.Join(err, closeOwned(owned))
	}
	w.owned = owned
	return w, nil
}

func closeOwned(c io.Closer) error {
	if c == nil {
		return nil
	}
	return c.Close()
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
// It takes the same clients as New. One that has another name joins by a
// lease.Center of its own: see docs/guide.md. Config.Segments are those of Module: here they
// are an error.
func Named(name string, cfg Config) fx.Option {
	type params struct {
		fx.In

		Lifecycle  fx.Lifecycle
		Shutdowner fx.Shutdowner `optional:"true"`
		Center     lease.Center  `optional:"true"`
		Clients
	}
	if name == "" {
		return fx.Error(errors.New("idworker: named: the name is empty: give the one of the name tag"))
	}
	if len(cfg.Segments) > 0 {
		return fx.Error(fmt.Errorf("idworker: named %q: segments are set, but a named worker has none: set them in the Config of Module, or use segment.Open", name))
	}
	return fx.Module("idworker."+name, fx.Provide(fx.Annotate(
		func(p params) (*IdWorker, error) {
			w, err := New(Params{
				Config: cfg, Lifecycle: p.Lifecycle, Shutdowner: p.Shutdowner, Center: p.Center, Clients: p.Clients,
			})
			if err != nil {
				return nil, fmt.Errorf("idworker %q: %w", name, err)
			}
			return w, nil
		},
		fx.ResultTags(fmt.Sprintf("name:%q", name)),
	)))
}

// Business provides the worker of the graph for a business number under a name: see
// IdWorker.For.
//
//	fx.Options(idworker.Module, idworker.Business("refunds", 2))
//
//	type Params struct {
//		fx.In
//		Refunds *idworker.IdWorker `name:"refunds"`
//	}
func Business(name string, number int64) fx.Option {
	if name == "" {
		return fx.Error(errors.New("idworker: business: the name is empty: give the one of the name tag"))
	}
	return fx.Provide(fx.Annotate(
		func(w *IdWorker) (*IdWorker, error) { return w.For(number) },
		fx.ResultTags(fmt.Sprintf("name:%q", name)),
	))
}
