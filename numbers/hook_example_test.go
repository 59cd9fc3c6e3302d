package numbers_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/libtnb/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowlease/snowlease/dbseq/gormdb"
	"github.com/snowlease/snowlease/numbers"
)

// receipts has the numbers of all receipts.
var receipts *numbers.Series

// A Receipt is numbered when it is stored. The unique index refuses a duplicate number, which the
// database would issue after a loss of the table of numbers.
//
// A receipt whose INSERT failed keeps in memory a number that the next one gets, so the hook sets it
// each time, and <-:create keeps UPDATE from storing it. A nested transaction rolls back alone, unless
// DisableNestedTransaction is set or a deadlock of MySQL has ended the whole one.
//
// An upsert (OnConflict, Save of a list, FullSaveAssociations) also calls the hook for rows that
// exist, and the number that it takes is a gap. With <-:create, an upsert of all columns leaves the
// row its number; without, the row gets the new one. To import rows with their numbers, set SkipHooks.
type Receipt struct {
	ID       int64
	TenantID string `gorm:"size:36;not null;uniqueIndex:receipt_number"`
	Number   string `gorm:"<-:create;size:20;not null;uniqueIndex:receipt_number"`
	Cents    int64  `gorm:"check:cents > 0"`
}

func (r *Receipt) BeforeCreate(tx *gorm.DB) error {
	number, err := receipts.NextTx(tx.Statement.Context, gormdb.Tx(tx), r.TenantID)
	r.Number = number.String()
	return err
}

// A hook of GORM numbers each row in the transaction of its INSERT. An INSERT that fails takes no number.
func ExampleSeries_NextTx_hook() {
	ctx := context.Background()
	db, err := gorm.Open(sqlite.Open("file:hook?mode=memory&_txlock=immediate"), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		log.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	pool.SetMaxOpenConns(1) // the database is in memory
	center, err := gormdb.Center(db)
	if err != nil {
		log.Fatal(err)
	}
	defer center.Close()
	receipts, err = numbers.OpenSeries(ctx, center.Numbers(), numbers.SeriesConfig{Namespace: "shop", Name: "receipts", Format: "R{00000}", Gapless: true})
	if err != nil {
		log.Fatal(err)
	}
	if err := db.AutoMigrate(&Receipt{}); err != nil {
		log.Fatal(err)
	}

	for _, r := range []Receipt{{TenantID: "acme", Cents: 500}, {TenantID: "acme"}, {TenantID: "acme", Cents: 700}, {TenantID: "zeta", Cents: 900}} {
		if err := db.WithContext(ctx).Create(&r).Error; err != nil {
			fmt.Println("none for", r.Cents, "cents")
			continue
		}
		fmt.Println(r.Number, "of", r.TenantID)
	}
	_, err = receipts.NextTx(ctx, gormdb.Tx(db), "acme")
	fmt.Println("outside of a transaction:", errors.Is(err, numbers.ErrTransaction))
	// Output:
	// R00001 of acme
	// none for 0 cents
	// R00002 of acme
	// R00001 of zeta
	// outside of a transaction: true
}
