package sqlopen_test

import (
	"context"
	"fmt"

	"go.uber.org/fx"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/providers/internal/mysql"
	"github.com/snowlease/snowlease/providers/internal/sqlite"
	"github.com/snowlease/snowlease/providers/internal/sqlopen"
	"github.com/snowlease/snowlease/providers/sqldb"
)

// This program links two drivers.
func ExampleNew() {
	newDB := sqlopen.New(mysql.Driver(), sqlite.Driver())
	ctx := context.Background()
	app := fx.New(fx.NopLogger, fx.Supply(sqldb.Config{Driver: "sqlite", DSN: ":memory:"}), fx.Provide(newDB),
		fx.Invoke(func(db *gorm.DB) { fmt.Println(db.Name()) }))
	if err := app.Start(ctx); err != nil {
		fmt.Println(err)
	}
	if err := app.Stop(ctx); err != nil {
		fmt.Println(err)
	}

	_, err := newDB(sqlopen.Params{Config: sqldb.Config{Driver: "postgres", DSN: "host=db dbname=orders"}})
	fmt.Println(err)
	// Output:
	// sqlite
	// providers: db.driver "postgres" is not linked into this program: set one of: mysql, sqlite
}
