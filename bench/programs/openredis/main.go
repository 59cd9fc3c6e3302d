// Openredis prints an id of idworker.Open, under a worker id borrowed from the Redis that
// is its argument.
package main

import (
	"log"
	"os"

	goredis "github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/bench/internal/borrow/byopen"
	"github.com/snowlease/snowlease/idworker"
)

func main() {
	client := goredis.NewClient(&goredis.Options{Addr: os.Args[1]})
	if err := byopen.Print(idworker.Clients{Redis: client}); err != nil {
		log.Fatal(err)
	}
}
