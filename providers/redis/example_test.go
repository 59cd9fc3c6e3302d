package redis_test

import (
	"context"
	"fmt"

	"github.com/alicebob/miniredis/v2"

	"github.com/snowlease/snowlease/providers/redis"
)

// Open is for applications without fx. This example runs a server for tests.
func ExampleOpen() {
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()

	client, err := redis.Open(context.Background(), redis.Config{Addrs: []string{server.Addr()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	fmt.Println(client.Ping(context.Background()))
	// Output: ping: PONG
}
