// Plain is a program without fx. It borrows a worker id from a database or Redis, makes ids
// and gives the worker id back. The first run takes some seconds, and its ids carry times up
// to 30 s ahead of the clock: see docs/operations.md.
//
//	go run ./examples/plain                           # SQLite in plain.db
//	go run ./examples/plain -redis 127.0.0.1:6379     # a Redis
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/libtnb/sqlite"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/idworker"
)

var config = idworker.Config{Namespace: "plain"}

func main() {
	logging.Disable() // go-redis also returns the errors that it logs
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	dsn, addr := flag.String("db", "plain.db", "SQLite file"), flag.String("redis", "", "host:port of a Redis to use instead")
	flag.Parse()
	var err error
	if *addr != "" {
		err = onRedis(ctx, &redis.Options{Addr: *addr}, os.Stdout, config)
	} else {
		err = onDatabase(ctx, *dsn, os.Stdout)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "plain:", err)
		os.Exit(1)
	}
}

// onDatabase borrows from tables that the worker creates in the application's database.
func onDatabase(ctx context.Context, dsn string, out io.Writer) error {
	db, err := gorm.Open(sqlite.Open(dsn))
	if err != nil {
		return fmt.Errorf("open the SQLite file %s, in a folder that exists: %w", dsn, err)
	}
	pool, err := db.DB()
	if err != nil {
		return err
	}
	return errors.Join(issue(ctx, out, config, idworker.WithDB(db)), pool.Close())
}

// onRedis borrows with the application's client, which the worker does not close.
func onRedis(ctx context.Context, opt *redis.Options, out io.Writer, config idworker.Config) error {
	client := redis.NewClient(opt)
	return errors.Join(issue(ctx, out, config, idworker.WithRedis(client)), client.Close())
}

// issue makes ids with a worker.
func issue(ctx context.Context, out io.Writer, config idworker.Config, store idworker.Option) (err error) {
	w, err := idworker.Open(ctx, config, store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Stop(ctx)) }() // gives the worker id back

	id, err := w.NextIDWait(ctx) // NextID does not wait
	if err != nil {
		return err
	}
	parts, err := w.Decode(id)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "id %d: worker %d, made at %s\n", id, parts.Worker, parts.Time)
	var batch [1000]int64 // one reservation for all
	if err := w.NextIDs(ctx, batch[:]); err != nil {
		return err
	}
	fmt.Fprintf(out, "and %d more, up to %d\n", len(batch), batch[len(batch)-1])
	return nil
}
