// TestEnt builds this program with the code that Ent generates from the schema into gen.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/examples/more/ent/gen"
	"github.com/snowlease/snowlease/examples/more/ent/ids"
	"github.com/snowlease/snowlease/idworker"
)

func main() {
	if err := run(context.Background(), "file:ent.db?_pragma=foreign_keys(1)"); err != nil {
		fmt.Fprintln(os.Stderr, "ent:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dsn string) (err error) {
	conns, err := sql.Open("sqlite", dsn)
	if err != nil {
		return err
	}
	client := gen.NewClient(gen.Driver(entsql.OpenDB(dialect.SQLite, conns)))
	defer func() { err = errors.Join(err, client.Close()) }()

	// The worker leases its id over a connection of its own.
	center, err := dbseq.Open("sqlite", dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, center.Close()) }()
	worker, err := idworker.Open(ctx, idworker.Config{Namespace: "ent-orders"}, idworker.WithCenter(center))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, worker.Stop(ctx)) }()
	client.Use(ids.Hook(worker))

	if err := client.Schema.Create(ctx); err != nil {
		return err
	}
	one, err := client.Order.Create().SetTotal(5).Save(ctx)
	if err != nil {
		return err
	}
	more, err := client.Order.CreateBulk(client.Order.Create().SetTotal(6), client.Order.Create().SetTotal(7)).Save(ctx)
	if err != nil {
		return err
	}
	for _, o := range append([]*gen.Order{one}, more...) {
		fmt.Println(o.ID, o.Total)
	}
	return nil
}
