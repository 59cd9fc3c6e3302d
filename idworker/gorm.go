package idworker

import (
	"errors"
	"fmt"

	"go.uber.org/fx"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/snowflake"
)

// GORM registers gormplugin on the application's *gorm.DB: primary keys get ids of the *IdWorker,
// or numbers of Config.Segments. The application may supply a gormplugin.Config, as a value. List
// GORM after Module and before every module that writes, so that modules can insert in their
// start and stop hooks:
//
//	fx.New(
//		fx.Options(idworker.Module, idworker.GORM),
//		orders.Module,
//	)
//
// An application that lists GORM borrows a worker id, even if it writes nothing. To use the
// plugin on a second database, call db.Use with the result of gormplugin.New.
var GORM = fx.Module("idworker.gorm", fx.Invoke(registerPlugin))

// registerPlugin fails if the database or the worker is missing or the Config is invalid, and
// with gorm.ErrRegistered if the database already has the plugin.
func registerPlugin(p struct {
	fx.In

	DB      *gorm.DB
	Worker  *IdWorker
	Config  gormplugin.Config `optional:"true"`
	Numbers *Numbers          `optional:"true"`
},
) error {
	if p.DB == nil {
		return errors.New("idworker: GORM: the *gorm.DB is nil; configure the database, or leave idworker.GORM out")
	}
	if p.Config.Segments == nil && p.Numbers != nil {
		p.Config.Segments = func(name string) (snowflake.Source, error) { return p.Numbers.Segment(name) }
	}
	err := p.DB.Use(gormplugin.New(p.Worker, p.Config))
	if errors.Is(err, gorm.ErrRegistered) {
		err = fmt.Errorf("idworker: GORM: this *gorm.DB already has the plugin; register it once, with idworker.GORM or db.Use: %w", err)
	}
	return err
}
