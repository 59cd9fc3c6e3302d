package postgres_test

import (
	"go.uber.org/fx"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/providers/postgres"
	"github.com/snowlease/snowlease/providers/sqldb"
)

// This application links only the driver of PostgreSQL.
func Example() {
	fx.New(
		fx.Supply(sqldb.Config{Driver: "postgres", DSN: "postgres://app:word@db/orders"}),
		postgres.Module,
		fx.Invoke(func(*gorm.DB) {}),
	).Run()
}
