package history_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/numbers/history"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "history")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	center, err := dbseq.Open("sqlite", "file:"+filepath.Join(dir, "app.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer center.Close()
	worker, err := snowlease.Open(ctx, center, snowlease.Config{Namespace: "orders", Reserved: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer worker.Close()
	past, err := history.New(worker, center.Numbers(), history.Config{})
	if err != nil {
		log.Fatal(err)
	}
	founded := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC) // before the service's first id
	id, err := past.Backfill(founded).NextIDAt(ctx, time.Date(2021, 3, 4, 5, 6, 7, 0, time.UTC))
	if err != nil {
		log.Fatal(err)
	}
	parts, err := worker.Decode(id)
	fmt.Println(id, parts.Time, parts.Worker, err)
	// Output: 155299839217631232 2021-03-04 05:06:07 +0000 UTC 31 <nil>
}
