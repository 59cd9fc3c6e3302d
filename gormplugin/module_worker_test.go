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
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/snowflake"
)

// The real worker keeps its lease in the same database.
func TestModuleWithWorker(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{true, false} {
		var started, stopped error
		var db *gorm.DB
		modules := []fx.Option{gormplugin.Module, writes(&started, &stopped)}
		if !first {
			modules[0], modules[1] = modules[1], modules[0]
		}
		app := fxtest.New(t, append(modules, idworker.Module, database(t), fx.Populate(&db),
			fx.Supply(idworker.Config{Namespace: "gormplugin", Store: idworker.StoreConfig{Skew: time.Millisecond}}))...)
		app.RequireStart()
		row := Plain{}
		require.NoError(t, db.WithContext(context.Background()).Create(&row).Error)
		require.NotZero(t, row.ID)
		app.RequireStop()
		if first {
			require.NoError(t, started)
			require.NoError(t, stopped)
			continue
		}
		require.ErrorIs(t, started, snowlease.ErrNotStarted)
		require.ErrorIs(t, stopped, snowlease.ErrStopped)
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
		parts, err := w.Decode(row.ID)
		require.NoError(t, err)
		require.EqualValues(t, worker, parts.Worker)
		require.Same(t, w, injected)
		app.RequireStop()
	}
}
