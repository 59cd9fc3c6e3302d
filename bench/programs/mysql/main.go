// Mysql prints an id under a worker id borrowed from the database that is its argument,
// without fx.
package main

import (
	"log"
	"os"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/bench/internal/borrow"
	"github.com/snowlease/snowlease/dbseq"
)

func main() {
	db, err := gorm.Open(mysql.Open(os.Args[1]), &gorm.Config{})
	if err != nil {
		log.Fatal(err)
	}
	center, err := dbseq.New(db)
	if err != nil {
		log.Fatal(err)
	}
	if err := borrow.Print(center); err != nil {
		log.Fatal(err)
	}
}
