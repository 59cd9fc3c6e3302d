// Goredis prints what a Redis answers: what a program has that uses Redis already.
package main

import (
	"context"
	"fmt"
	"os"

	goredis "github.com/redis/go-redis/v9"
)

func main() {
	client := goredis.NewClient(&goredis.Options{Addr: os.Args[1]})
	fmt.Println(client.Eval(context.Background(), "return 1", nil).Result())
}
