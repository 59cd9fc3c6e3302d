package redisseq_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq"
)

// A process borrows a worker id, renews it and gives it back. In an application a worker
// does this: see snowlease.Open.
func Example() {
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		panic(err)
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()

	// This embedded server has no run_id. A real Redis needs no option.
	center, err := redisseq.New(client, redisseq.WithDurable(true))
	if err != nil {
		panic(err)
	}

	ctx := context.Background()
	req := lease.Request{
		Namespace: "orders", Layout: "41/5/0/17@1577808000000/1ms", Holder: "orders-api@host-1",
		Owner: lease.NewOwner(), Pool: 32, First: 0, Last: 31,
		TTL: 30 * time.Second, MaxTTL: time.Minute, Skew: 2 * time.Second,
	}

	// The records of an unknown namespace may have been lost ...
	_, err = center.Acquire(ctx, req)
	fmt.Println("in quarantine:", errors.As(err, new(*lease.QuarantineError)))
	server.FlushAll()
	// ... unless Init says that it is new.
	if err := center.Extras().Init(ctx, req); err != nil {
		panic(err)
	}

	grant, err := center.Acquire(ctx, req)
	if err != nil {
		panic(err)
	}
	fmt.Println("worker", grant.Worker, "for", time.Duration(grant.Ceiling-grant.Now)*time.Millisecond)
	if grant, err = center.Renew(ctx, grant); err != nil {
		panic(err)
	}
	fmt.Println("given back:", center.Release(ctx, grant, grant.Now) == nil)
	// Output:
	// in quarantine: true
	// worker 0 for 30s
	// given back: true
}
