// Redis prints an id under a worker id borrowed from the Redis that is its argument,
// without fx.
package main

import (
	"log"
	"os"

	goredis "github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/bench/internal/borrow"
	"github.com/snowlease/snowlease/redisseq"
)

func main() {
	client := goredis.NewClient(&goredis.Options{Addr: os.Args[1]})
	center, err := redisseq.New(client)
	if err != nil {
		log.Fatal(err)
	}
	if err := borrow.Print(center); err != nil {
		log.Fatal(err)
	}
}
