// Redis prints an id under a worker id borrowed from the Redis that is its argument,
// without fx.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	goredis "github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/idworker/lease"
	"github.com/snowlease/snowlease/idworker/snowflake"
	"github.com/snowlease/snowlease/redisseq"
)

func main() {
	client := goredis.NewClient(&goredis.Options{Addr: os.Args[1]})
	center, err := redisseq.New(client)
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
