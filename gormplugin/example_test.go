package gormplugin_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/libtnb/sqlite"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/gormplugin"
)

type Invoice struct {
	gormplugin.Model
	Lines []InvoiceLine
}

type InvoiceLine struct {
	ID        int64 `gorm:"primaryKey;autoIncrement:false" json:"id,string"`
	InvoiceID int64
	Text      string
}

// The plugin fills the keys of the rows that Create inserts. This example's generator
// counts; an application passes its *idworker.IdWorker.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := gorm.Open(sqlite.Open(filepath.Join(dir, "app.db")), &gorm.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if err := db.Use(gormplugin.New(&counter{last: 1000}, gormplugin.Config{})); err != nil {
		log.Fatal(err)
	}
	if err := db.AutoMigrate(&Invoice{}, &InvoiceLine{}); err != nil {
		log.Fatal(err)
	}

	invoice := Invoice{Lines: []InvoiceLine{{Text: "apples"}, {Text: "pears"}}}
	if err := db.Create(&invoice).Error; err != nil {
		log.Fatal(err)
	}
	fmt.Println("invoice", invoice.ID)
	for _, line := range invoice.Lines {
		fmt.Println("line", line.ID, "of", line.InvoiceID, line.Text)
	}
	if pool, err := db.DB(); err == nil {
		pool.Close()
	}
	// Output:
	// invoice 1001
	// line 1002 of 1001 apples
	// line 1003 of 1001 pears
}
