// Sqlite prints an id under a worker id borrowed from the database that is its argument,
// without fx.
package main

import (
	"log"
	"os"

	_ "modernc.org/sqlite"

	"github.com/snowlease/snowlease/bench/internal/borrow"
	"github.com/snowlease/snowlease/dbseq"
)

func main() {
	center, err := dbseq.Open("sqlite", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	if err := borrow.Print(center); err != nil {
		log.Fatal(err)
	}
}
