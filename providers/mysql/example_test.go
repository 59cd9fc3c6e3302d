package mysql_test

import (
	"go.uber.org/fx"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/providers/mysql"
	"github.com/snowlease/snowlease/providers/sqldb"
)

// This application links only the driver of MySQL.
func Example() {
	fx.New(
		fx.Supply(sqldb.Config{Driver: "mysql", DSN: "app:word@tcp(db:3306)/orders"}),
		mysql.Module,
		fx.Invoke(func(*gorm.DB) {}),
	).Run()
}
