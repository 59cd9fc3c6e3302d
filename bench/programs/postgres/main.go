// Postgres prints an id under a worker id borrowed from the database that is its argument,
// without fx.
package main

import (
	"log"
	"os"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowlease/snowlease/bench/internal/borrow"
	"github.com/snowlease/snowlease/dbseq"
)

func main() {
	center, err := dbseq.Open("pgx", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	if err := borrow.Print(center); err != nil {
		log.Fatal(err)
	}
}
