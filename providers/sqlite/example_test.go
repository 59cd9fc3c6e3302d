package sqlite_test

import (
	"go.uber.org/fx"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/providers/sqldb"
	"github.com/snowlease/snowlease/providers/sqlite"
)

// This application links only the driver of SQLite.
func Example() {
	fx.New(
		fx.Supply(sqldb.Config{Driver: "sqlite", DSN: "orders.db"}),
		sqlite.Module,
		fx.Invoke(func(*gorm.DB) {}),
	).Run()
}
