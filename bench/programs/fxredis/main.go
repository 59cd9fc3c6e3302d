// Fxredis prints an id of idworker.Module, under a worker id borrowed from the Redis that
// is its argument.
package main

import (
	"log"
	"os"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/fx"

	"github.com/snowlease/snowlease/bench/internal/borrow/byfx"
)

func main() {
	client := goredis.NewClient(&goredis.Options{Addr: os.Args[1]})
	if err := byfx.Print(fx.Provide(func() goredis.UniversalClient { return client })); err != nil {
		log.Fatal(err)
	}
}
