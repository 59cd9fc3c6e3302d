package gormplugin

import (
	"errors"

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
	Generator Generator
	Config    Config                               `optional:"true"`
	Segments  func(name string) (Generator, error) `optional:"true"`
}

// Register is what Module invokes: db.Use(New(...)). It fails with gorm.ErrRegistered
// where the database has the plugin already.
func Register(p Params) error {
	if p.DB == nil {
		return errors.New("gormplugin: the *gorm.DB is nil: configure the database, or leave gormplugin.Module out")
	}
	if p.Config.Segments == nil {
		p.Config.Segments = p.Segments
	}
	return p.DB.Use(New(p.Generator, p.Config))
}
