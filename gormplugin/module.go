package gormplugin

import (
	"errors"
	"fmt"

	"go.uber.org/fx"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/numbers/segment"
	"github.com/snowlease/snowlease/snowflake"
)

// Module registers the plugin on the application's *gorm.DB. It takes the
// snowflake.Source and the segments from idworker.Module, and a Config, as a value, if the
// application supplies one. List it before every module that writes: see the package documentation. An
// application that lists it borrows a worker id, even if it writes nothing.
//
// Wire a second database by hand. It may share the worker; one with a name of its own, by
// idworker.Named, takes a second tag:
//
//	fx.Invoke(fx.Annotate(
//		func(db *gorm.DB, w *idworker.IdWorker) error {
//			return db.Use(gormplugin.New(w, gormplugin.Config{}))
//		},
//		fx.ParamTags(`name:"archive"`),
//	))
var Module = fx.Module("gormplugin", fx.Invoke(use))

// params are what use needs.
type params struct {
	fx.In

	DB       *gorm.DB
	Source   snowflake.Source `optional:"true"` // without one use fails
	Config   Config           `optional:"true"`
	Segments segment.Lookup   `optional:"true"`
}

// use registers the plugin with db.Use. It fails if DB or Source is missing or Config
// is invalid, and with gorm.ErrRegistered if the database already has the plugin.
func use(p params) error {
	if p.DB == nil {
		return errors.New("gormplugin: the *gorm.DB is nil; configure the database, or leave gormplugin.Module out")
	}
	if p.Source == nil {
		return errors.New("gormplugin: no snowflake.Source in the fx graph: add idworker.Module, with fx.Replace(worker) for a worker of yours, or fx.Supply(worker, fx.Annotate(worker, fx.As(new(snowflake.Source))))")
	}
	if p.Config.Segments == nil {
		p.Config.Segments = p.Segments
	}
	err := p.DB.Use(New(p.Source, p.Config))
	if errors.Is(err, gorm.ErrRegistered) {
		err = fmt.Errorf("gormplugin: this *gorm.DB already has the plugin; register it once, with gormplugin.Module or db.Use: %w", err)
	}
	return err
}
