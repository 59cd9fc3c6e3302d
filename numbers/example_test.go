package numbers_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/numbers"
)

// Order numbers start at 1000 and come from the application's database.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "numbers")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	center, err := dbseq.Open("sqlite", "file:"+filepath.Join(dir, "app.db")+"?_pragma=journal_mode(WAL)")
	if err != nil {
		log.Fatal(err)
	}
	defer center.Close()
	orders, err := numbers.OpenSegment(ctx, center.Numbers(), numbers.SegmentConfig{Namespace: "shop", Name: "orders", Start: 1000})
	if err != nil {
		log.Fatal(err)
	}
	defer orders.Close()

	fmt.Println(orders.Next(ctx))
	lines := make([]int64, 3) // for a bulk insert
	fmt.Println(orders.NextIDs(ctx, lines), lines)
	// Output:
	// 1000 <nil>
	// <nil> [1001 1002 1003]
}
