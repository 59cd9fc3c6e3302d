// Opencenter prints an id of idworker.Open, under a worker id borrowed from the database
// that is its argument, without GORM.
package main

import (
	"log"
	"os"

	_ "github.com/go-sql-driver/mysql"

	"github.com/snowlease/snowlease/bench/internal/borrow/byopen"
	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/idworker"
)

func main() {
	center, err := dbseq.Open("mysql", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	if err := byopen.Print(idworker.Clients{Center: center}); err != nil {
		log.Fatal(err)
	}
}
