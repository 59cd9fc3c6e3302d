// Package byfx is what the measured programs do that use idworker.Module.
package byfx

import (
	"context"
	"fmt"

	"go.uber.org/fx"

	"github.com/snowlease/snowlease/idworker"
)

// Print borrows a worker id from the store, prints an id and gives the worker id back.
func Print(store fx.Option) error {
	ctx := context.Background()
	var w *idworker.IdWorker
	app := fx.New(fx.NopLogger, fx.Supply(idworker.Config{Namespace: "bench"}), store, idworker.Module, fx.Populate(&w))
	if err := app.Start(ctx); err != nil {
		return err
	}
	fmt.Println(w.NextID())
	return app.Stop(ctx)
}
