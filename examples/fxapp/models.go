package main

import (
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/publicid"
)

// A Customer is identified by an email address.
type Customer struct {
	gormplugin.Model
	Name  string `gorm:"size:100;not null" json:"name"`
	Email string `gorm:"size:254;not null;uniqueIndex" json:"email"`
}

// An Order belongs to a customer and has items. Its id is a BIGINT in the database, and
// ord_... in JSON and in paths. The other fields are the same as in gormplugin.Model.
type Order struct {
	ID         publicid.ID[Order] `gorm:"primaryKey" json:"id" idworker:"true"`
	CreatedAt  time.Time          `json:"created_at"`
	UpdatedAt  time.Time          `json:"updated_at"`
	DeletedAt  gorm.DeletedAt     `gorm:"index" json:"deleted_at"`
	Number     string             `gorm:"<-:create;size:20;not null;uniqueIndex" json:"number"` // of the invoice
	CustomerID int64              `gorm:"not null;index" json:"-"`
	Customer   Customer           `json:"customer"`
	Items      []Item             `json:"items"`
	TotalCents int64              `gorm:"not null" json:"total_cents"`
}

// An Item is one line of an order.
type Item struct {
	gormplugin.Model
	OrderID    publicid.ID[Order] `gorm:"not null;index" json:"-"`
	Product    string             `gorm:"size:100;not null" json:"product"`
	Quantity   int64              `gorm:"not null" json:"quantity"`
	PriceCents int64              `gorm:"not null" json:"price_cents"`
}

// orderIDs comes from the configuration, before anything reads or writes an order.
var orderIDs atomic.Pointer[publicid.Codec]

// Codec returns the codec of order ids.
func (Order) Codec() *publicid.Codec { return orderIDs.Load() }

// orderCodec returns a codec of sealed ids, or of plain ones without a secret.
func (c config) orderCodec() (*publicid.Codec, error) {
	if c.OrderIDSecret == "" {
		return publicid.New("ord")
	}
	return publicid.NewSealed("ord", []byte(c.OrderIDSecret))
}

// The prefix keeps the tables apart from others in the same database.

func (Customer) TableName() string { return "fxapp_customers" }
func (Order) TableName() string    { return "fxapp_orders" }
func (Item) TableName() string     { return "fxapp_items" }
