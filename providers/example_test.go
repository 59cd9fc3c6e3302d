package providers_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/fx"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/providers"
	"github.com/snowlease/snowlease/providers/secret"
	"github.com/snowlease/snowlease/providers/sqldb"
)

// The configuration chooses the clients: here a SQLite file and no Redis.
func Example() {
	dir, err := os.MkdirTemp("", "providers")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	app := fx.New(
		fx.NopLogger,
		fx.Supply(providers.Config{DB: sqldb.Config{Driver: "sqlite", DSN: secret.String(filepath.Join(dir, "app.db"))}}),
		providers.Module,
		fx.Invoke(func(db *gorm.DB, client goredis.UniversalClient) {
			fmt.Println("database:", db.Name())
			fmt.Println("redis is configured:", client != nil)
		}),
	)
	fmt.Println("start:", app.Start(context.Background()))
	fmt.Println("stop:", app.Stop(context.Background()))
	// Output:
	// database: sqlite
	// redis is configured: false
	// start: <nil>
	// stop: <nil>
}
