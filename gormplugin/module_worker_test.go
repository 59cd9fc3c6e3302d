package gormplugin_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/snowflake"
)

// With the worker itself, whose lease is kept in the same database.
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
			fx.Supply(idworker.Config{Namespace: "gormplugin", Skew: time.Millisecond}))...)
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
		require.ErrorIs(t, started, snowflake.ErrNotStarted)
		require.ErrorIs(t, stopped, snowflake.ErrStopped)
	}
}
