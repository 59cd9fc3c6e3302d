package main

import "github.com/snowlease/snowlease/gormplugin"

// A Customer is identified by the email address.
type Customer struct {
	gormplugin.Model
	Name  string `gorm:"size:100;not null" json:"name"`
	Email string `gorm:"size:254;not null;uniqueIndex" json:"email"`
}

// An Order belongs to a customer and has items.
type Order struct {
	gormplugin.Model
	Number     string   `gorm:"size:18;not null;uniqueIndex" json:"number"` // of the invoice, for people
	CustomerID int64    `gorm:"not null;index" json:"-"`
	Customer   Customer `json:"customer"`
	Items      []Item   `json:"items"`
	TotalCents int64    `gorm:"not null" json:"total_cents"`
}

// An Item is one line of an order.
type Item struct {
	gormplugin.Model
	OrderID    int64  `gorm:"not null;index" json:"-"`
	Product    string `gorm:"size:100;not null" json:"product"`
	Quantity   int64  `gorm:"not null" json:"quantity"`
	PriceCents int64  `gorm:"not null" json:"price_cents"`
}

// The prefix keeps the tables apart from others in the same database.

func (Customer) TableName() string { return "fxapp_customers" }
func (Order) TableName() string    { return "fxapp_orders" }
func (Item) TableName() string     { return "fxapp_items" }
