package counter_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers/counter"
	"github.com/snowlease/snowlease/redisseq"
	"github.com/snowlease/snowlease/snowflake"
)

// Two processes, here two clients, share a worker number. Their ids rise across both, and
// can be decoded.
func ExampleNew() {
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		panic(err)
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()

	cfg := counter.Config{
		Namespace: "orders",
		Layout:    snowflake.Layout{Epoch: 1556985600000, WorkerBits: 5, BusinessBits: 5, SequenceBits: 12},
		Worker:    1,
		Prefetch:  1, // in order across processes
		// A new namespace waits for Skew and a tick, 2 s by default.
		MaxAhead: 50 * time.Millisecond, Skew: 50 * time.Millisecond,
	}
	ctx := context.Background()
	var processes []*counter.Counter
	for range 2 {
		// This embedded server has no run_id. A real Redis needs no option.
		s, err := counter.New(client, cfg, redisseq.WithQuarantine(lease.QuarantineNever))
		if err != nil {
			panic(err)
		}
		defer s.Close()
		if err := s.Start(ctx); err != nil {
			panic(err)
		}
		processes = append(processes, s)
	}

	last := int64(0)
	for i := range 4 {
		id, err := processes[i%2].NextID()
		if err != nil {
			panic(err)
		}
		fmt.Println("greater:", id > last)
		last = id
	}

	refunds, err := processes[0].For(2)
	if err != nil {
		panic(err)
	}
	id, err := refunds.NextID()
	if err != nil {
		panic(err)
	}
	parts, err := cfg.Layout.Decode(id)
	if err != nil {
		panic(err)
	}
	fmt.Println("worker", parts.Worker, "business", parts.Business)
	// Output:
	// greater: true
	// greater: true
	// greater: true
	// greater: true
	// worker 1 business 2
}
