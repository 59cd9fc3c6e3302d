// Postgres prints an id under a worker id borrowed from the database that is its argument,
// without fx.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/idworker/lease"
	"github.com/snowlease/snowlease/idworker/snowflake"
)

func main() {
	db, err := gorm.Open(postgres.Open(os.Args[1]), &gorm.Config{})
	if err != nil {
		log.Fatal(err)
	}
	center, err := dbseq.New(db)
	if err != nil {
		log.Fatal(err)
	}
	layout := snowflake.Layout{}
	gen, err := snowflake.NewGenerator(layout)
	if err != nil {
		log.Fatal(err)
	}
	keeper, err := lease.NewKeeper(lease.KeeperConfig{Center: center, Generator: gen, Request: lease.NewRequest("bench", layout)})
	if err != nil {
		log.Fatal(err)
	}
	if err := keeper.Start(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(gen.NextID())
	if err := keeper.Stop(context.Background()); err != nil {
		log.Fatal(err)
	}
}
