package idworker_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/libtnb/sqlite"
	"go.uber.org/fx"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/idworker"
)

// database stands for the database that the application already has.
func database(lc fx.Lifecycle) (*gorm.DB, error) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		return nil, err
	}
	db, err := gorm.Open(sqlite.Open(filepath.Join(dir, "app.db")), &gorm.Config{})
	if err != nil {
		return nil, err
	}
	lc.Append(fx.StopHook(func() error {
		pool, err := db.DB()
		if err != nil {
			return err
		}
		_ = pool.Close()
		return os.RemoveAll(dir)
	}))
	return db, nil
}

// An fx application borrows a worker id from its database when it starts, issues ids, and
// gives the worker id back when it stops.
func Example() {
	app := fx.New(
		fx.NopLogger,
		fx.Provide(database),
		fx.Supply(idworker.Config{Namespace: "orders"}),
		fx.Options(idworker.Module),
		fx.Invoke(func(lc fx.Lifecycle, w *idworker.IdWorker) {
			lc.Append(fx.StartHook(func() error {
				id, err := w.NextID()
				if err != nil {
					return err
				}
				p, err := w.Decode(id)
				fmt.Println("an id of worker", p.Worker, err)
				return nil
			}))
		}),
	)
	ctx := context.Background()
	if err := app.Start(ctx); err != nil {
		panic(err)
	}
	if err := app.Stop(ctx); err != nil {
		panic(err)
	}
	// Output: an id of worker 1 <nil>
}

// A program without fx opens a worker and closes it itself.
func ExampleOpen() {
	ctx := context.Background()
	db, err := gorm.Open(sqlite.Open(":memory:"), &gorm.Config{})
	if err != nil {
		panic(err)
	}
	if pool, err := db.DB(); err == nil {
		pool.SetMaxOpenConns(1) // each connection would have a database of its own
		defer pool.Close()
	}
	w, err := idworker.Open(ctx, idworker.Config{Namespace: "orders"}, idworker.Clients{DB: db})
	if err != nil {
		panic(err)
	}
	defer func() { _ = w.Close() }()
	ids := make([]int64, 3)
	fmt.Println(w.NextIDs(ctx, ids), ids[0] < ids[1] && ids[1] < ids[2])
	// Output: <nil> true
}
