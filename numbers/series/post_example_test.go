package series_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/libtnb/sqlite"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/dbseq/gormdb"
	"github.com/snowlease/snowlease/numbers/series"
)

// An Invoice is a draft, without a number, until it is posted.
type Invoice struct {
	ID       int64
	TenantID string  `gorm:"size:36;not null;uniqueIndex:invoice_number"`
	Number   *string `gorm:"size:20;uniqueIndex:invoice_number"` // a unique index admits any number of NULLs
}

var errPosted = errors.New("the invoice is posted already")

// post numbers a draft, once. A second call finds no draft, so it rolls its transaction back, and its number
// with it.
func post(ctx context.Context, db *gorm.DB, invoices *series.Series, draft Invoice) (number series.Number, err error) {
	err = db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if number, err = invoices.NextTx(ctx, gormdb.Tx(tx), draft.TenantID); err != nil {
			return err
		}
		posted := tx.Model(&Invoice{}).Where("id = ? AND number IS NULL", draft.ID).Update("number", number.String())
		if posted.Error == nil && posted.RowsAffected == 0 {
			return errPosted
		}
		return posted.Error
	})
	return number, err
}

// A service numbers drafts in the order in which they are posted, by an UPDATE.
func ExampleSeries_NextTx_post() {
	ctx := context.Background()
	db, err := gorm.Open(sqlite.Open("file:post?mode=memory&_txlock=immediate"))
	if err != nil {
		log.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	pool.SetMaxOpenConns(1) // the database is in memory
	store, err := gormdb.Segments(db)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	invoices, err := series.Open(ctx, store, series.Config{Namespace: "shop", Name: "invoices", Format: "INV-{000000}", Gapless: true})
	if err != nil {
		log.Fatal(err)
	}
	if err := db.AutoMigrate(&Invoice{}); err != nil {
		log.Fatal(err)
	}

	drafts := []Invoice{{TenantID: "acme"}, {TenantID: "acme"}}
	if err := db.Create(&drafts).Error; err != nil {
		log.Fatal(err)
	}
	for _, i := range []int{1, 1, 0} {
		number, err := post(ctx, db, invoices, drafts[i])
		if err != nil {
			fmt.Println(drafts[i].ID, err)
			continue
		}
		fmt.Println(drafts[i].ID, number)
	}
	// Output:
	// 2 INV-000001
	// 2 the invoice is posted already
	// 1 INV-000002
}
