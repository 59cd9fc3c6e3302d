package gormplugin

import (
	"errors"
	"fmt"

	"go.uber.org/fx"
	"gorm.io/gorm"
)

// Module registers the plugin on the app's *gorm.DB, with the app's Generator, which
// idworker.Module provides, and with a Config where the app supplies one. List it
// before every module that writes: see the package documentation. An app that lists
// it takes a lease, whether it writes or not.
//
// A second database or worker is wired by hand:
//
//	fx.Invoke(fx.Annotate(
//		func(db *gorm.DB, w *idworker.IdWorker) error {
//			return db.Use(gormplugin.New(w, gormplugin.Config{}))
//		},
//		fx.ParamTags(`name:"archive"`, `name:"archive"`),
//	))
var Module = fx.Module("gormplugin", fx.Invoke(Register))

// Params are what Register needs.
type Params struct {
	fx.In

	DB        *gorm.DB
	Generator Generator                            `optional:"true"` // without one Register fails
	Config    Config                               `optional:"true"`
	Segments  func(name string) (Generator, error) `optional:"true"`
}

// Register is what Module invokes: db.Use(New(...)). It fails with gorm.ErrRegistered
// where the database has the plugin already.
func Register(p Params) error {
	if p.DB == nil {
		return errors.New("gormplugin: the *gorm.DB is nil: configure the database, or leave gormplugin.Module out")
	}
	if p.Generator == nil {
		return errors.New("gormplugin: there is no generator in the fx graph: list idworker.Module beside gormplugin.Module, or provide a gormplugin.Generator")
	}
	if p.Config.Segments == nil {
		p.Config.Segments = p.Segments
	}
	err := p.DB.Use(New(p.Generator, p.Config))
	if errors.Is(err, gorm.ErrRegistered) {
		err = fmt.Errorf("gormplugin: this *gorm.DB has the plugin already: register it once, by gormplugin.Module or by db.Use: %w", err)
	}
	return err
}
