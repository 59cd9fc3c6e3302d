package main

import "github.com/snowlease/snowlease/gormplugin"

// A Customer is known by the email.
type Customer struct {
	gormplugin.Model
	Name  string `gorm:"size:100;not null" json:"name"`
	Email string `gorm:"size:254;not null;uniqueIndex" json:"email"`
}

// An Order belongs to a customer and has items.
type Order struct {
	gormplugin.Model
	CustomerID int64    `gorm:"not null;index" json:"-"`
	Customer   Customer `json:"customer"`
	Items      []Item   `json:"items"`
	TotalCents int64    `gorm:"not null" json:"total_cents"`
	Invoice    *Invoice `json:"-"`
	Number     string   `gorm:"-" json:"number,omitempty"` // of the invoice, for people
}

// invoices is the segment that numbers the invoices.
const invoices = "fxapp.invoices"

// An Invoice has a small number instead of an id.
type Invoice struct {
	ID      int64 `gorm:"primaryKey;autoIncrement:false" idworker:"-"`
	OrderID int64 `gorm:"not null;uniqueIndex"`
}

// An Item is one line of an order.
type Item struct {
	gormplugin.Model
	OrderID    int64  `gorm:"not null;index" json:"-"`
	Product    string `gorm:"size:100;not null" json:"product"`
	Quantity   int64  `gorm:"not null" json:"quantity"`
	PriceCents int64  `gorm:"not null" json:"price_cents"`
}

// The tables have a prefix of their own: the database may be one that is in use.

// TableName names the table of customers.
func (Customer) TableName() string { return "fxapp_customers" }

// TableName names the table of orders.
func (Order) TableName() string { return "fxapp_orders" }

// TableName names the table of invoices.
func (Invoice) TableName() string { return "fxapp_invoices" }

// TableName names the table of items.
func (Item) TableName() string { return "fxapp_items" }
