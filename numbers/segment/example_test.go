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

	number, err := orders.Next(ctx)
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
