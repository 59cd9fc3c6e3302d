package dbseq_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/lease"
)

// A process borrows a worker id, extends the lease and gives it back.
func Example() {
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

	ctx := context.Background()
	request := lease.Request{
		Namespace: "orders", Layout: "41/5/0/17", Holder: "orders@host-1", Owner: lease.NewOwner(),
		Pool: 32, First: 0, Last: 31,
		TTL: 30 * time.Second, MaxTTL: 30 * time.Second, Skew: 2 * time.Second,
		CallerTime: time.Now().UnixMilli(),
	}
	// After Init, a new namespace lends at once.
	if err := center.Extras().Init(ctx, request); err != nil {
		log.Fatal(err)
	}
	grant, err := center.Acquire(ctx, request)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("worker", grant.Worker, "may use", grant.Ceiling-grant.Now, "ms")

	renewed, err := center.Renew(ctx, grant)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("no less after a renewal:", renewed.Ceiling >= grant.Ceiling)

	fmt.Println("given back:", center.Release(ctx, renewed, renewed.Now) == nil)
	// Output:
	// worker 1 may use 30000 ms
	// no less after a renewal: true
	// given back: true
}
