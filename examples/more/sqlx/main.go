// Sqlx is a program that uses sqlx and database/sql with id columns of type snowflake.ID.
//
//	cd examples/more && go run ./sqlx       # SQLite in sqlx.db
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/jmoiron/sqlx"
	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/snowflake"
)

type order struct {
	ID    snowflake.ID  `db:"id" json:"id"`       // a string in JSON
	After *snowflake.ID `db:"after" json:"after"` // nil if the column is NULL
	Total int64         `db:"total" json:"total"`
}

func main() {
	if err := run(context.Background(), "sqlx.db", os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sqlx:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dsn string, out io.Writer) (err error) {
	db, err := sqlx.Open("sqlite", dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	// The worker uses a connection of its own.
	center, err := dbseq.Open("sqlite", dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, center.Close()) }()
	worker, err := snowlease.Open(ctx, center, snowlease.Config{Namespace: "sqlx-orders"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, worker.Close()) }()

	if _, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS orders (id BIGINT PRIMARY KEY, after BIGINT, total BIGINT NOT NULL)`); err != nil {
		return err
	}
	var ids [3]int64 // a single reservation for all rows
	if err := worker.NextIDs(ctx, ids[:]); err != nil {
		return err
	}
	var orders []order
	for i, id := range ids {
		o := order{ID: snowflake.ID(id), Total: int64(i+1) * 100}
		if i > 0 {
			o.After = &orders[i-1].ID
		}
		orders = append(orders, o)
	}
	if _, err := db.NamedExecContext(ctx, `INSERT INTO orders (id, after, total) VALUES (:id, :after, :total)`, orders); err != nil {
		return err
	}
	var read []order
	if err := db.SelectContext(ctx, &read, `SELECT id, after, total FROM orders WHERE id >= ? ORDER BY id`, orders[0].ID); err != nil {
		return err
	}
	for _, o := range read {
		fmt.Fprintln(out, o.ID, o.Total)
	}
	return nil
}
