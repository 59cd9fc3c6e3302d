package gormplugin_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/snowflake"
)

// workers stands for idworker.Module: it provides a generator that has a lease from its
// start hook to its stop hook.
func workers() fx.Option {
	return fx.Module("workers", fx.Provide(
		func(lc fx.Lifecycle) (*generator.Generator, error) {
			g, err := generator.New(snowflake.Layout{})
			lc.Append(fx.StartStopHook(
				func() error {
					now := time.Now().UnixMilli()
					_, err := g.Adopt(generator.Range{Worker: worker, Floor: now - 1, Ceiling: now + time.Hour.Milliseconds(), Now: now, At: g.Elapsed()})
					return err
				},
				func() { g.Stop() },
			))
			return g, err
		},
		func(g *generator.Generator) snowflake.Source { return g },
	))
}

// writes is a module that inserts in its start and stop hooks, and keeps the errors
// instead of failing.
func writes(started, stopped *error) fx.Option {
	return fx.Module("writes", fx.Invoke(func(lc fx.Lifecycle, db *gorm.DB) {
		create := func(into *error) func(context.Context) error {
			return func(ctx context.Context) error {
				*into = db.WithContext(ctx).Create(&Plain{}).Error
				return nil
			}
		}
		lc.Append(fx.Hook{OnStart: create(started), OnStop: create(stopped)})
	}))
}

func database(t *testing.T) fx.Option {
	return fx.Provide(func() *gorm.DB { return openSQLite(t, nil, &Plain{}, &Auto{}) })
}

// Start and stop hooks can insert only in modules after the plugin's.
func TestModuleOrder(t *testing.T) {
	t.Parallel()
	t.Run("before what writes", func(t *testing.T) {
		t.Parallel()
		var started, stopped error
		fxtest.New(t, workers(), database(t), gormplugin.Module, writes(&started, &stopped)).RequireStart().RequireStop()
		require.NoError(t, started)
		require.NoError(t, stopped)
	})
	t.Run("after what writes", func(t *testing.T) {
		t.Parallel()
		var started, stopped error
		fxtest.New(t, workers(), database(t), writes(&started, &stopped), gormplugin.Module).RequireStart().RequireStop()
		require.ErrorIs(t, started, snowlease.ErrNotStarted)
		require.ErrorIs(t, stopped, snowlease.ErrStopped)
		for _, err := range []error{started, stopped} {
			require.ErrorContains(t, err, "list gormplugin.Module before every module that writes")
		}
	})
}

func TestModuleWithoutADatabase(t *testing.T) {
	t.Parallel()
	err := fx.New(fx.NopLogger, workers(), gormplugin.Module, fx.Provide(func() *gorm.DB { return nil })).Err()
	require.ErrorContains(t, err, "*gorm.DB is nil")
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
	cell{T: t}.issued(plain.ID)
	require.EqualValues(t, 1, auto.ID)
	app.RequireStop()
	require.ErrorIs(t, db.Create(&Plain{}).Error, snowlease.ErrStopped)

	for _, tt := range []struct {
		name string
		with fx.Option
		is   error
		says string
	}{
		{"wrong config", fx.Options(workers(), fx.Supply(gormplugin.Config{Scope: "x"})), nil, `scope "x"`},
		{"listed twice", fx.Options(workers(), gormplugin.Module), gorm.ErrRegistered, ""},
		{"no worker", fx.Options(), nil, "add idworker.Module"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := fx.New(fx.NopLogger, gormplugin.Module, database(t), tt.with).Err()
			require.ErrorContains(t, err, tt.says)
			if tt.is != nil {
				require.ErrorIs(t, err, tt.is)
			}
		})
	}
}
