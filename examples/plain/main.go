// Plain is a program without fx. It borrows a worker id from a database or Redis, issues ids
// and returns the worker id. The first run takes some seconds, and its ids carry times up
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

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq"
)

var config = snowlease.Config{Namespace: "plain"}

func main() {
	logging.Disable() // go-redis also returns the errors that it logs
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	dsn, addr := flag.String("db", "plain.db", "SQLite file"), flag.String("redis", "", "host:port of a Redis to use instead")
	flag.Parse()
	var err error
	if *addr != "" {
		err = onRedis(ctx, &redis.Options{Addr: *addr}, os.Stdout, config)
	} else {
		err = onDatabase(ctx, *dsn, os.Stdout, config)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "plain:", err)
		os.Exit(1)
	}
}

// onDatabase borrows from tables that the center creates in the database. With a *sql.DB of
// the application, use dbseq.New.
func onDatabase(ctx context.Context, dsn string, out io.Writer, config snowlease.Config) error {
	center, err := dbseq.Open("sqlite", dsn)
	if err != nil {
		return err
	}
	return errors.Join(issue(ctx, out, center, config), center.Close())
}

// onRedis borrows from Redis, with the options of the application's client.
func onRedis(ctx context.Context, opt *redis.Options, out io.Writer, config snowlease.Config, opts ...redisseq.Option) error {
	client := redis.NewClient(opt)
	center, err := redisseq.New(client, opts...)
	if err == nil {
		err = errors.Join(issue(ctx, out, center, config), center.Close())
	}
	return errors.Join(err, client.Close())
}

// issue makes ids with a worker.
func issue(ctx context.Context, out io.Writer, center lease.Center, config snowlease.Config) (err error) {
	w, err := snowlease.Open(ctx, center, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }() // gives the worker id back

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
