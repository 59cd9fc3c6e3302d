// First is the program in README.md. It prints an id, with a worker id leased from SQLite.
package main

import (
	"context"
	"fmt"
	"log"

	_ "modernc.org/sqlite" // or the driver of MySQL or PostgreSQL

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/dbseq"
)

func main() {
	ctx := context.Background()
	center, err := dbseq.Open("sqlite", "shop.db") // leases worker ids from three small tables
	if err != nil {
		log.Fatal(err)
	}
	defer center.Close()
	worker, err := snowlease.Open(ctx, center, snowlease.Config{Namespace: "orders"})
	if err != nil {
		log.Fatal(err)
	}
	defer worker.Close() // returns the worker id
	fmt.Println(worker.NextID())
}
