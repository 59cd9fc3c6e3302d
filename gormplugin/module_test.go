package gormplugin_test

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
	"github.com/snowlease/snowlease/snowflake"
)

// workers is idworker.Module with a worker that keeps its lease in the application's database.
func workers() fx.Option {
	return fx.Options(idworker.Module, fx.Supply(idworker.Config{Namespace: "gormplugin", Store: idworker.StoreConfig{Skew: time.Millisecond}}))
}

func database(t *testing.T) fx.Option {
	return fx.Provide(func() *gorm.DB { return openSQLite(t, nil, &Plain{}, &Auto{}) })
}

func TestModule(t *testing.T) {
	t.Parallel()
	var db *gorm.DB
	app := fxtest.New(t, workers(), database(t), gormplugin.Module,
		fx.Supply(gormplugin.Config{Exclude: []string{"autos"}}), fx.Populate(&db))
	app.RequireStart()
	plain, auto := Plain{}, Auto{Name: "a"}
	require.NoError(t, db.Create(&plain).Error)
	require.NoError(t, db.Create(&auto).Error)
	require.Greater(t, plain.ID, int64(1<<40))
	require.EqualValues(t, 1, auto.ID)
	app.RequireStop()
	require.ErrorIs(t, db.Create(&Plain{}).Error, snowlease.ErrClosed)
	app.RequireStart() // as fx allows
	require.NoError(t, db.Create(&Plain{}).Error)
	app.RequireStop()

	for _, tt := range []struct {
		name string
		with fx.Option
		is   error
		says string
	}{
		{"wrong config", fx.Options(workers(), database(t), fx.Supply(gormplugin.Config{Scope: "x"})), nil, `scope "x"`},
		{"listed twice", fx.Options(workers(), database(t), gormplugin.Module), gorm.ErrRegistered, ""},
		{"no worker", database(t), nil, "add idworker.Module"},
		{"no database", fx.Options(fx.Supply(fx.Annotate(&counter{}, fx.As(new(snowflake.Source)))), fx.Provide(func() *gorm.DB { return nil })), nil, "*gorm.DB is nil"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := fx.New(fx.NopLogger, gormplugin.Module, tt.with).Err()
			require.ErrorContains(t, err, tt.says)
			if tt.is != nil {
				require.ErrorIs(t, err, tt.is)
			}
		})
	}
}

// A worker that was made without idworker.Module fills keys as well. Supplied as an
// *idworker.IdWorker only, it is another type to fx, and the error names both ways out.
func TestModuleWithASuppliedWorker(t *testing.T) {
	t.Parallel()
	w, err := snowlease.Fixed(snowflake.Layout{}, worker)
	require.NoError(t, err)
	says := fx.New(fx.NopLogger, fx.Supply(w), gormplugin.Module, database(t)).Err()
	for advice, supply := range map[string]fx.Option{
		"add idworker.Module, with fx.Replace(worker)":                         fx.Options(idworker.Module, fx.Replace(w)),
		"fx.Supply(worker, fx.Annotate(worker, fx.As(new(snowflake.Source))))": fx.Supply(w, fx.Annotate(w, fx.As(new(snowflake.Source)))),
	} {
		require.ErrorContains(t, says, advice)
		var db *gorm.DB
		var injected *idworker.IdWorker
		app := fxtest.New(t, supply, gormplugin.Module, database(t), fx.Populate(&db, &injected))
		app.RequireStart()
		row := Plain{}
		require.NoError(t, db.Create(&row).Error)
		cell{T: t}.issued(row.ID)
		require.Same(t, w, injected)
		app.RequireStop()
	}
}
