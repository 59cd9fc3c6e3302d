// Cron runs a job every second. The worker outlives the jobs.
//
//	cd examples/frameworks && go run ./cron
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os/signal"
	"syscall"

	"github.com/robfig/cron/v3"
	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/snowlease/snowlease/examples/frameworks/shop"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) (err error) {
	worker, closer, err := shop.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closer()) }()

	jobs := cron.New(cron.WithChain(cron.SkipIfStillRunning(cron.DiscardLogger)))
	if _, err := jobs.AddFunc("@every 1s", func() {
		id, err := shop.Order(ctx, worker)
		if err != nil {
			log.Print(err)
			return
		}
		fmt.Println("order", id)
	}); err != nil {
		return err
	}
	jobs.Start()
	stopping, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	<-stopping.Done()
	<-jobs.Stop().Done() // the jobs that run get their ids
	return nil
}
