package segment_test

import (
	"context"
	"fmt"
	"log"

	"github.com/libtnb/sqlite"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/numbers/segment"
)

// An Invoice has a number as its id.
type Invoice struct {
	ID    int64 `gorm:"primaryKey;autoIncrement:false"`
	Total int64
}

// An Issuer can provide the ids of gormplugin.
func ExampleIssuer_gorm() {
	invoices, err := segment.Open(context.Background(), segment.NewMemory(), segment.Config{Namespace: "shop", Name: "invoices", Start: 5001})
	if err != nil {
		log.Fatal(err)
	}
	defer invoices.Close()

	db, err := gorm.Open(sqlite.Open("file::memory:"))
	if err != nil {
		log.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	if err := db.Use(gormplugin.New(invoices, gormplugin.Config{})); err != nil {
		log.Fatal(err)
	}
	if err := db.AutoMigrate(&Invoice{}); err != nil {
		log.Fatal(err)
	}

	rows := []Invoice{{Total: 10}, {Total: 20}, {Total: 30}}
	if err := db.Create(&rows).Error; err != nil {
		log.Fatal(err)
	}
	for _, row := range rows {
		fmt.Println(row.ID, row.Total)
	}
	// Output:
	// 5001 10
	// 5002 20
	// 5003 30
}
