// Opensqlite prints an id of idworker.Open, under a worker id borrowed from the database that is
// its argument.
package main

import (
	"log"
	"os"

	"github.com/libtnb/sqlite"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/bench/internal/borrow/byopen"
	"github.com/snowlease/snowlease/idworker"
)

func main() {
	db, err := gorm.Open(sqlite.Open(os.Args[1]))
	if err != nil {
		log.Fatal(err)
	}
	if err := byopen.Print(idworker.Clients{DB: db}); err != nil {
		log.Fatal(err)
	}
}
