package numbers_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/libtnb/sqlite"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/dbseq/gormdb"
	"github.com/snowlease/snowlease/numbers"
)

// An order takes a number of its day in the transaction that stores it. A rollback takes the number
// back, so there is no gap.
func ExampleSeries_NextTx() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "numbers")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := gorm.Open(sqlite.Open(filepath.Join(dir, "shop.db") + "?_txlock=immediate"))
	if err != nil {
		log.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	center, err := gormdb.Center(db)
	if err != nil {
		log.Fatal(err)
	}
	defer center.Close()
	orders, err := numbers.OpenSeries(ctx, center.Numbers(), numbers.SeriesConfig{Namespace: "shop", Name: "orders", Period: numbers.Day, Gapless: true})
	if err != nil {
		log.Fatal(err)
	}
	defer orders.Close()

	for range 2 {
		err := db.Transaction(func(tx *gorm.DB) error {
			number, err := orders.NextTx(ctx, gormdb.Tx(tx), "")
			fmt.Println(number.Value) // number.String() is such as 20261128-000001
			return err                // and store the order with tx
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// 1
	// 2
}
