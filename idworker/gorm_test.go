package idworker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/numbers"
)

type (
	Order struct {
		ID int64 `gorm:"primaryKey;autoIncrement:false"`
	}
	Invoice struct {
		ID int64 `gorm:"primaryKey;autoIncrement:false" idworker:"segment=invoices"`
	}
	Member struct {
		ID int64 `gorm:"primaryKey;autoIncrement:false" idworker:"segment=members"`
	}
	Archive struct{ ID int64 }
)

// GORM fills keys with ids and numbers of segments while the application runs.
func TestGORM(t *testing.T) {
	t.Parallel()
	cfg := idworker.Config{
		Namespace: "orders", Store: idworker.StoreConfig{Skew: time.Millisecond},
		Segments: []numbers.SegmentConfig{{Name: "invoices", Start: 500, Strict: true}},
	}
	database := fx.Supply(newSQLite(t))
	var db *gorm.DB
	app := fxtest.New(t, fx.Supply(cfg), database, fx.Options(idworker.Module, idworker.GORM),
		fx.Supply(gormplugin.Config{Exclude: []string{"archives"}}), fx.Populate(&db))
	require.NoError(t, db.AutoMigrate(&Order{}, &Invoice{}, &Member{}, &Archive{}))
	fails := func(row any, target error) {
		err := db.Create(row).Error
		require.ErrorIs(t, err, target)
		require.ErrorContains(t, err, "list idworker.GORM before")
	}
	fails(&Invoice{}, snowlease.ErrNotStarted)
	app.RequireStart()
	order, invoice, excluded := Order{}, Invoice{}, Archive{}
	require.NoError(t, db.Create(&order).Error)
	require.NoError(t, db.Create(&invoice).Error)
	require.NoError(t, db.Create(&excluded).Error)
	require.Greater(t, order.ID, int64(1<<40))
	require.Equal(t, []int64{500, 1}, []int64{invoice.ID, excluded.ID})
	require.ErrorContains(t, db.Create(&Member{}).Error, `"members" is not configured (configured: ["invoices"])`)
	app.RequireStop()
	fails(&Order{}, snowlease.ErrClosed)
	fails(&Invoice{}, numbers.ErrClosed)

	worker, err := snowlease.Fixed(5, snowlease.Config{})
	require.NoError(t, err)
	for _, supplied := range []fx.Option{fx.Supply(worker), fx.Options(idworker.Module, fx.Replace(worker))} {
		var injected *idworker.IdWorker
		fxtest.New(t, supplied, fx.Supply(newSQLite(t)), idworker.GORM, fx.Populate(&db, &injected)).RequireStart()
		require.NoError(t, db.AutoMigrate(&Order{}))
		require.NoError(t, db.Create(&order).Error)
		require.Same(t, worker, injected)
	}

	for says, opts := range map[string]fx.Option{
		"gormplugin: wait":                fx.Options(fx.Supply(worker, newSQLite(t), gormplugin.Config{Wait: -1})),
		"register it once":                fx.Options(fx.Supply(worker), fx.Supply(newSQLite(t)), idworker.GORM),
		"missing type: *snowlease.Worker": database,
		"the *gorm.DB is nil":             fx.Options(fx.Supply(worker), fx.Provide(func() *gorm.DB { return nil })),
	} {
		require.ErrorContains(t, fx.New(fx.NopLogger, idworker.GORM, opts).Err(), says)
	}
}
