// Bun is a program that uses bun with models whose keys are of type snowflake.ID.
//
//	cd examples/more && go run ./bun        # SQLite in bun.db
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/snowflake"
)

type order struct {
	bun.BaseModel `bun:"table:orders"`

	ID    snowflake.ID `bun:"id,pk,type:bigint" json:"id"` // a string in JSON
	Total int64        `bun:"total,notnull" json:"total"`
}

func main() {
	if err := run(context.Background(), "bun.db", os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bun:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dsn string, out io.Writer) (err error) {
	conns, err := sql.Open("sqlite", dsn)
	if err != nil {
		return err
	}
	db := bun.NewDB(conns, sqlitedialect.New())
	defer func() { err = errors.Join(err, db.Close()) }()

	// The worker uses a connection of its own.
	center, err := dbseq.Open("sqlite", dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, center.Close()) }()
	worker, err := snowlease.Open(ctx, center, snowlease.Config{Namespace: "bun-orders"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, worker.Close()) }()

	if _, err := db.NewCreateTable().Model((*order)(nil)).IfNotExists().Exec(ctx); err != nil {
		return err
	}
	var ids [3]int64 // a single reservation for all rows
	if err := worker.NextIDs(ctx, ids[:]); err != nil {
		return err
	}
	orders := make([]order, len(ids))
	for i, id := range ids {
		orders[i] = order{ID: snowflake.ID(id), Total: int64(i+1) * 100}
	}
	if _, err := db.NewInsert().Model(&orders).Exec(ctx); err != nil {
		return err
	}
	var read []order
	if err := db.NewSelect().Model(&read).Where("id >= ?", orders[0].ID).Order("id").Scan(ctx); err != nil {
		return err
	}
	for _, o := range read {
		fmt.Fprintln(out, o.ID, o.Total)
	}
	return nil
}
