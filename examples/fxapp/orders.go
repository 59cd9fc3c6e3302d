package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"
	"time"

	"go.uber.org/fx"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/dbseq/gormdb"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/numbers"
	"github.com/snowlease/snowlease/publicid"
)

var (
	printable = regexp.MustCompile(`^\PC{1,100}$`)
	email     = regexp.MustCompile(`^[!-?A-~]{1,100}@[!-?A-~]{1,100}$`)
)

// check validates an order that a client sends.
func check(o Order) error {
	if !printable.MatchString(o.Customer.Name) || !email.MatchString(o.Customer.Email) || len(o.Items) < 1 || len(o.Items) > 100 {
		return errors.New("an order has a customer (a name of 1 to 100 printable characters and an email address) and 1 to 100 items")
	}
	for n, i := range o.Items {
		if !printable.MatchString(i.Product) || i.Quantity < 1 || i.Quantity > 10_000 || i.PriceCents < 0 || i.PriceCents > 1e9 {
			return fmt.Errorf("items[%d] has product %q, quantity %d and price_cents %d, not 1 to 100 printable characters, 1 to 10000 and 0 to 1000000000", n, i.Product, i.Quantity, i.PriceCents)
		}
	}
	return nil
}

// A store keeps orders in the database. It is safe for concurrent use.
type store struct {
	db       *gorm.DB
	invoices *numbers.Series
}

func newStore(cfg config, db *gorm.DB, numbers *idworker.Numbers) (*store, error) {
	codec, err := cfg.orderCodec()
	if err != nil {
		return nil, err
	}
	orderIDs.Store(codec)
	invoices, err := numbers.Series("invoices")
	return &store{db, invoices}, err
}

// createTables creates missing tables when the application starts. It retries, since
// another copy of the program may be creating them too.
func createTables(lc fx.Lifecycle, db *gorm.DB) {
	if db.Name() == "mysql" {
		db = db.Set("gorm:table_options", "DEFAULT CHARSET=utf8mb4")
	}
	lc.Append(fx.StartHook(func(ctx context.Context) (err error) {
		for range 5 {
			if err = db.WithContext(ctx).AutoMigrate(&Customer{}, &Order{}, &Item{}); err == nil {
				return nil
			}
			time.Sleep(200 * time.Millisecond)
		}
		return fmt.Errorf("create the tables of the models: %w", err)
	}))
}

// place stores the customer and the items of o as a new order. GORM's plugin fills the ids of all
// rows. The number of the invoice is taken in the transaction that stores the order, so an order that
// is not stored leaves no gap.
func (s *store) place(ctx context.Context, o Order) (Order, error) {
	customer, err := s.customer(ctx, o.Customer)
	if err != nil {
		return Order{}, fmt.Errorf("store the customer: %w", err)
	}
	order := Order{CustomerID: customer.ID, Customer: customer}
	for _, i := range o.Items {
		order.Items = append(order.Items, Item{Product: i.Product, Quantity: i.Quantity, PriceCents: i.PriceCents})
		order.TotalCents += i.Quantity * i.PriceCents
	}
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		number, err := s.invoices.NextTx(ctx, gormdb.Tx(tx), "")
		if err != nil {
			return err
		}
		order.Number = number.String()
		return tx.Omit("Customer").Create(&order).Error
	})
	return order, err
}

// customer returns the customer with an email address, and creates it if there is none.
func (s *store) customer(ctx context.Context, c Customer) (found Customer, err error) {
	db, address := s.db.WithContext(ctx), strings.ToLower(c.Email)
	err = db.Where("email = ?", address).Attrs(Customer{Name: c.Name, Email: address}).FirstOrCreate(&found).Error
	if errors.Is(err, gorm.ErrDuplicatedKey) { // another request has just created it
		found = Customer{}
		err = db.Where("email = ?", address).Take(&found).Error
	}
	return found, err
}

// order returns the order with an id, or gorm.ErrRecordNotFound.
func (s *store) order(ctx context.Context, id publicid.ID[Order]) (order Order, err error) {
	err = s.orders(ctx).Where("id = ?", id).Take(&order).Error
	return order, err
}

// page returns up to limit orders with ids below before, newest first.
func (s *store) page(ctx context.Context, before publicid.ID[Order], limit int) (orders []Order, err error) {
	err = s.orders(ctx).Where("id < ?", before).Order("id DESC").Limit(limit).Find(&orders).Error
	return orders, err
}

func (s *store) orders(ctx context.Context) *gorm.DB {
	byID := func(db *gorm.DB) *gorm.DB { return db.Order("id") }
	return s.db.WithContext(ctx).Preload("Customer").Preload("Items", byID)
}

var (
	ada     = Customer{Name: "Ada Lovelace", Email: "ada@example.org"}
	grace   = Customer{Name: "Grace Hopper", Email: "grace@example.org"}
	samples = []Order{
		{Customer: ada, Items: []Item{{Product: "tea", Quantity: 2, PriceCents: 450}, {Product: "scone", Quantity: 1, PriceCents: 320}}},
		{Customer: grace, Items: []Item{{Product: "coffee", Quantity: 1, PriceCents: 380}}},
		{Customer: ada, Items: []Item{{Product: "punched cards", Quantity: 100, PriceCents: 12}}},
	}
)

// insertSamples inserts a few orders when the application starts. It prints each row with
// its decoded id.
func insertSamples(lc fx.Lifecycle, s *store, w *idworker.IdWorker, out io.Writer) {
	lc.Append(fx.StartHook(func(ctx context.Context) error {
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "ID\tTIME\tWORKER\tSEQUENCE\tROW")
		for _, sample := range samples {
			o, err := s.place(ctx, sample)
			if err != nil {
				return fmt.Errorf("insert the sample orders: %w", err)
			}
			fmt.Fprintf(table, "%s\torder of %s, %s, invoice %s\n", decoded(w, int64(o.ID)), o.Customer.Name, money(o.TotalCents), o.Number)
			for _, i := range o.Items {
				fmt.Fprintf(table, "%s\t- %d x %s at %s\n", decoded(w, i.ID), i.Quantity, i.Product, money(i.PriceCents))
			}
		}
		if status := w.Status(); status.Floor.After(status.Now) {
			fmt.Fprintf(table, "These times are %v ahead of the clock, so that they lie above all ids that a lost database may have given out.\n",
				status.Floor.Sub(status.Now).Round(time.Second))
		}
		return table.Flush()
	}))
}

func decoded(w *idworker.IdWorker, id int64) string {
	p, _ := w.Decode(id) // never fails for an id of w
	return fmt.Sprintf("%d\t%s\t%d\t%d", id, p.Time.Format("2006-01-02T15:04:05.000Z"), p.Worker, p.Sequence)
}

func money(cents int64) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }
