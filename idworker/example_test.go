package idworker_test

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/fx"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/redisseq"
)

type Purchase struct {
	gormplugin.Model
	Total int64
}

// newDB opens the database of the application.
func newDB(lc fx.Lifecycle) (*gorm.DB, error) {
	db, pool, err := openMemory()
	lc.Append(fx.StopHook(pool.Close))
	return db, err
}

// insert stands for a module that writes when the application starts.
func insert(lc fx.Lifecycle, db *gorm.DB) {
	lc.Append(fx.StartHook(func() error {
		row := Purchase{Total: 5}
		err := errors.Join(db.AutoMigrate(&row), db.Create(&row).Error)
		fmt.Println("the key is set:", row.ID > 0)
		return err
	}))
}

// An application with fx and GORM borrows a worker id from its database when it starts, fills
// primary keys, and gives the worker id back when it stops.
func Example() {
	app := fx.New(
		fx.Supply(idworker.Config{Namespace: "orders"}),
		fx.Provide(newDB),
		fx.Options(idworker.Module, idworker.GORM), // before every module that writes
		fx.Invoke(insert),
		fx.NopLogger,
	)
	ctx := context.Background()
	fmt.Println(app.Start(ctx), app.Stop(ctx))
	// Output:
	// the key is set: true
	// <nil> <nil>
}

// A worker id from Redis: redisseq.New takes the redis.UniversalClient of the graph.
func Example_redis() {
	app := fx.New(
		fx.Supply(idworker.Config{Namespace: "orders"}),
		fx.Provide(openRedis, redisseq.New),
		fx.Options(idworker.Module),
		fx.Invoke(func(lc fx.Lifecycle, w *idworker.IdWorker) {
			lc.Append(fx.StartHook(func() error {
				id, err := w.NextID()
				fmt.Println("an id:", id > 0)
				return err
			}))
		}),
		fx.NopLogger,
	)
	ctx := context.Background()
	fmt.Println(app.Start(ctx), app.Stop(ctx))
	// Output:
	// an id: true
	// <nil> <nil>
}

// A program without fx opens a worker and closes it itself.
func ExampleOpen() {
	ctx := context.Background()
	db, pool, err := openMemory()
	if err != nil {
		panic(err)
	}
	defer pool.Close()
	w, err := idworker.Open(ctx, idworker.Config{Namespace: "orders"}, idworker.Clients{DB: db})
	if err != nil {
		panic(err)
	}
	defer func() { _ = w.Close() }()
	ids := make([]int64, 3)
	fmt.Println(w.NextIDs(ctx, ids), ids[0] < ids[1] && ids[1] < ids[2])
	// Output: <nil> true
}
