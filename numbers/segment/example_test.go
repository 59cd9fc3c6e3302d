package segment_test

import (
	"context"
	"fmt"
	"log"

	"github.com/snowlease/snowlease/internal/test/segmentcheck"
	"github.com/snowlease/snowlease/numbers/segment"
)

// numbers stands for Numbers of a dbseq.Center.
func numbers() segment.Store { return new(segmentcheck.Memory) }

// This example numbers orders from 1000.
func Example() {
	ctx := context.Background()
	orders, err := segment.Open(ctx, numbers(), segment.Config{Namespace: "shop", Name: "orders", Start: 1000})
	if err != nil {
		log.Fatal(err)
	}
	defer orders.Close()

	number, err := orders.NextID()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(number)

	lines := make([]int64, 3) // for a bulk insert
	if err := orders.NextIDs(ctx, lines); err != nil {
		log.Fatal(err)
	}
	fmt.Println(lines)
	fmt.Println("prefetched:", orders.Status().Remaining > 0)
	// Output:
	// 1000
	// [1001 1002 1003]
	// prefetched: true
}

// In strict order, two processes share one sequence.
func ExampleConfig_strict() {
	ctx := context.Background()
	both := numbers()
	cfg := segment.Config{Namespace: "shop", Name: "invoices", Order: segment.OrderStrict}
	one, err := segment.Open(ctx, both, cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer one.Close()
	another, err := segment.Open(ctx, both, cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer another.Close()

	for _, issuer := range []*segment.Issuer{one, another, one} {
		fmt.Println(issuer.NextID())
	}
	// Output:
	// 1 <nil>
	// 2 <nil>
	// 3 <nil>
}
