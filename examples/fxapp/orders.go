package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.uber.org/fx"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/ordernumber"
)

// tables creates what the models need, when the application starts.
var tables = fx.Module("tables", fx.Invoke(func(lc fx.Lifecycle, s *store, log *slog.Logger) {
	lc.Append(fx.StartHook(func(ctx context.Context) error {
		if err := s.migrate(ctx); err != nil {
			return fmt.Errorf("create the tables of the models: %w", err)
		}
		log.Info("fxapp: tables are ready")
		return nil
	}))
}))

// A store keeps orders. It is safe for concurrent use.
type store struct {
	db       *gorm.DB
	segments *idworker.Segments
	invoices *idworker.Segment // their numbers
	numbers  *ordernumber.Codec
}

func newStore(db *gorm.DB, segments *idworker.Segments) (*store, error) {
	invoices, err := segments.Of(invoices)
	if err != nil {
		return nil, err
	}
	numbers, err := ordernumber.New(ordernumber.Config{})
	return &store{db, segments, invoices, numbers}, err
}

// migrate creates the tables that are missing. It changes none that is there: copies
// of this program may be at work on it. It tries again, since of copies that start at
// once only one creates a table.
func (s *store) migrate(ctx context.Context) error {
	db := s.db.WithContext(ctx)
	if db.Name() == "mysql" {
		db = db.Set("gorm:table_options", "DEFAULT CHARSET=utf8mb4")
	}
	for try := 1; ; try++ {
		// Where DDL is transactional, the others see a table and its indexes at once.
		err := db.Transaction(createTables)
		if err == nil || try == 5 {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		case <-time.After(time.Duration(try) * 100 * time.Millisecond):
		}
	}
}

func createTables(tx *gorm.DB) error {
	for _, model := range []any{&Customer{}, &Order{}, &Invoice{}, &Item{}} {
		if tx.Migrator().HasTable(model) {
			continue
		}
		if err := tx.Migrator().CreateTable(model); err != nil {
			return err
		}
	}
	return nil
}

// place stores an order, with its items, for the customer with that email, who may be
// new. Nothing here knows of ids. The number of the invoice is taken before GORM begins
// the transaction, which on SQLite would keep the segment from being written.
func (s *store) place(ctx context.Context, o newOrder) (Order, error) {
	db := s.db.WithContext(ctx)
	customer, err := findOrCreate(db, o.Customer)
	if err != nil {
		return Order{}, fmt.Errorf("store the customer: %w", err)
	}
	invoice, err := s.invoices.NextIDWait(ctx)
	if err != nil {
		return Order{}, fmt.Errorf("number the invoice: %w", err)
	}
	order := Order{CustomerID: customer.ID, Invoice: &Invoice{ID: invoice}}
	for _, i := range o.Items {
		order.Items = append(order.Items, Item{Product: i.Product, Quantity: i.Quantity, PriceCents: i.PriceCents})
		order.TotalCents += i.Quantity * i.PriceCents
	}
	if err := db.Omit("Customer").Create(&order).Error; err != nil {
		return Order{}, fmt.Errorf("store the order: %w", err)
	}
	order.Customer = customer
	return order, s.number(&order)
}

// number says the number of an order's invoice as people read it: the day, the number
// and two digits by which the customer's shard is found.
func (s *store) number(o *Order) (err error) {
	if o.Invoice != nil {
		o.Number, err = s.numbers.Format(o.CreatedAt, o.Invoice.ID, o.CustomerID)
	}
	return err
}

func findOrCreate(db *gorm.DB, c newCustomer) (found Customer, err error) {
	find := func() error { return db.Where("email = ?", c.Email).Take(&found).Error }
	if err = find(); !errors.Is(err, gorm.ErrRecordNotFound) {
		return found, err
	}
	// Another request may be faster; what is in the table counts.
	err = db.Clauses(clause.OnConflict{DoNothing: true}).Create(&Customer{Name: c.Name, Email: c.Email}).Error
	if err == nil {
		err = find()
	}
	return found, err
}

// order returns one order, or gorm.ErrRecordNotFound.
func (s *store) order(ctx context.Context, id int64) (o Order, err error) {
	if err = whole(s.db.WithContext(ctx)).Take(&o, id).Error; err == nil {
		err = s.number(&o)
	}
	return o, err
}

// list returns up to limit orders, newest first, with ids below before.
func (s *store) list(ctx context.Context, before int64, limit int) (orders []Order, err error) {
	err = whole(s.db.WithContext(ctx)).Where("id < ?", before).Order("id DESC").Limit(limit).Find(&orders).Error
	for i := range orders {
		err = errors.Join(err, s.number(&orders[i]))
	}
	return orders, err
}

func whole(db *gorm.DB) *gorm.DB {
	return db.Preload("Customer").Preload("Invoice").Preload("Items", func(db *gorm.DB) *gorm.DB { return db.Order("id") })
}
