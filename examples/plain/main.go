// Plain is a program without fx: it borrows a worker id from the database or the Redis
// that it has, makes ids and gives the worker id back. The first run takes some seconds,
// and its ids carry times up to 30 s ahead: see docs/operations.md.
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

	"github.com/libtnb/sqlite"
	"github.com/redis/go-redis/v9"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	dsn, addr := flag.String("db", "plain.db", "SQLite file"), flag.String("redis", "", "host:port of a Redis, in its place")
	flag.Parse()
	var err error
	if *addr != "" {
		err = onRedis(ctx, &redis.Options{Addr: *addr}, os.Stdout)
	} else {
		err = onDatabase(ctx, *dsn, os.Stdout)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "plain:", err)
		os.Exit(1)
	}
}

// onDatabase borrows from the tables that the center creates beside the application's.
func onDatabase(ctx context.Context, dsn string, out io.Writer) error {
	db, err := gorm.Open(sqlite.Open(dsn))
	if err != nil {
		return err
	}
	center, err := dbseq.New(db)
	if err != nil {
		return err
	}
	pool, err := db.DB()
	if err == nil {
		err = issue(ctx, center, out)
	}
	return errors.Join(err, center.Close(), pool.Close())
}

// onRedis borrows by a client that stays the application's.
func onRedis(ctx context.Context, opt *redis.Options, out io.Writer, opts ...redisseq.Option) error {
	client := redis.NewClient(opt)
	center, err := redisseq.New(client, opts...)
	if err == nil {
		err = issue(ctx, center, out)
	}
	return errors.Join(err, client.Close())
}

// issue is all that a program does with a worker.
func issue(ctx context.Context, center lease.Center, out io.Writer) (err error) {
	w, err := idworker.Open(ctx, idworker.Config{Namespace: "plain"}, center)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close(ctx)) }() // gives the worker id back

	id, err := w.NextIDWait(ctx) // NextID, where nothing is to be waited for
	if err != nil {
		return err
	}
	parts, err := w.Decode(id)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "id %d: worker %d, made at %s\n", id, parts.Worker, parts.Time)
	var batch [1000]int64 // by one reservation
	if err := w.NextIDs(ctx, batch[:]); err != nil {
		return err
	}
	fmt.Fprintf(out, "and %d more, up to %d\n", len(batch), batch[len(batch)-1])
	return nil
}
