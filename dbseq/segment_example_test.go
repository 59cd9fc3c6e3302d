package dbseq_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/numbers/segment"
)

// Order numbers start at 1000 and come from the application's database.
func ExampleCenter_Numbers() {
	dir, err := os.MkdirTemp("", "dbseq")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	center, err := dbseq.Open("sqlite", "file:"+filepath.Join(dir, "app.db")+"?_pragma=journal_mode(WAL)")
	if err != nil {
		log.Fatal(err)
	}
	defer center.Close()
	orders, err := segment.Open(context.Background(), center.Numbers(), segment.Config{Namespace: "shop", Name: "orders", Start: 1000})
	if err != nil {
		log.Fatal(err)
	}
	defer orders.Close()
	for range 3 {
		fmt.Println(orders.Next(context.Background()))
	}
	// Output:
	// 1000 <nil>
	// 1001 <nil>
	// 1002 <nil>
}
