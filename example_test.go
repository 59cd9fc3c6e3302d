package snowlease_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/dbseq"
)

// A service borrows a worker id from its database. With Redis, the center is
// redisseq.New(client), and the rest is the same.
func Example() {
	dir, err := os.MkdirTemp("", "snowlease")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	center, err := dbseq.Open("sqlite", filepath.Join(dir, "shop.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer center.Close()
	w, err := snowlease.Open(ctx, center, snowlease.Config{Namespace: "orders"})
	if err != nil {
		log.Fatal(err)
	}
	id, err := w.NextID()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(id > 0, w.Status().State)
	fmt.Println(w.Close()) // gives the worker id back
	// Output:
	// true ready
	// <nil>
}

// A unit test needs no database.
func ExampleFixed() {
	w, err := snowlease.Fixed(3, snowlease.Config{})
	if err != nil {
		log.Fatal(err)
	}
	id, err := w.NextID()
	if err != nil {
		log.Fatal(err)
	}
	p, err := w.Decode(id)
	fmt.Println(p.Worker, err)
	// Output: 3 <nil>
}
