package keeper_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/lease/keeper"
)

// A service borrows a worker id from its database. With Redis, the center is
// redisseq.New(client), and the rest is the same.
func Example() {
	dir, err := os.MkdirTemp("", "keeper")
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
	k, err := keeper.Open(ctx, keeper.Config{Center: center, Namespace: "orders"})
	if err != nil {
		log.Fatal(err)
	}
	id, err := k.NextID()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(id > 0, k.Status().State)
	fmt.Println(k.Stop(ctx)) // gives the worker id back
	// Output:
	// true holding
	// <nil>
}
