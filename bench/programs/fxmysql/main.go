// Fxmysql prints an id of idworker.Module, under a worker id borrowed from the database that is
// its argument.
package main

import (
	"log"
	"os"

	"go.uber.org/fx"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/bench/internal/borrow/byfx"
)

func main() {
	db, err := gorm.Open(mysql.Open(os.Args[1]))
	if err != nil {
		log.Fatal(err)
	}
	if err := byfx.Print(fx.Supply(db)); err != nil {
		log.Fatal(err)
	}
}
