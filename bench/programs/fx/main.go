// Fx prints an id of idworker.Module in an fx application: all centers are linked, and
// no SQL driver.
package main

import (
	"context"
	"fmt"
	"log"

	"go.uber.org/fx"

	"github.com/snowlease/snowlease/hostseq"
	"github.com/snowlease/snowlease/idworker"
)

func main() {
	var w *idworker.IdWorker
	worker := int64(1)
	app := fx.New(fx.NopLogger, idworker.Module, fx.Populate(&w),
		fx.Supply(idworker.Config{Mode: idworker.ModeLocal, Local: hostseq.Config{Worker: &worker, Stateless: true}}))
	if err := app.Start(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(w.NextID())
	if err := app.Stop(context.Background()); err != nil {
		log.Fatal(err)
	}
}
