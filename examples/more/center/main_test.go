package main

import (
	"path/filepath"
	"testing"

	"github.com/libtnb/sqlite"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/idworker"
)

func TestLeasesFromTheNamedDatabase(t *testing.T) {
	t.Parallel()
	dsn, report := filepath.Join(t.TempDir(), "main.db"), filepath.Join(t.TempDir(), "report.db")
	var worker *idworker.IdWorker
	app := fxtest.New(t, wiring(dsn, report), fx.Populate(&worker))
	app.RequireStart()
	_, err := worker.NextID()
	require.NoError(t, err)
	app.RequireStop()
	for file, has := range map[string]bool{dsn: true, report: false} {
		db, err := gorm.Open(sqlite.Open(file))
		require.NoError(t, err)
		require.Equal(t, has, db.Migrator().HasTable("snowlease_slot"), file)
	}
}
