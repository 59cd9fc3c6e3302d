package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"go.uber.org/fx"

	"github.com/snowlease/snowlease/idworker"
)

// samples inserts a few orders when the application starts and prints them to out.
func samples(out io.Writer) fx.Option {
	return fx.Module("samples", fx.Invoke(func(lc fx.Lifecycle, s *store, w *idworker.IdWorker, log *slog.Logger) {
		lc.Append(fx.StartHook(func(ctx context.Context) error {
			var orders []Order
			for _, o := range sampleOrders() {
				order, err := s.place(ctx, o)
				if err != nil {
					return fmt.Errorf("insert the sample orders: %w", err)
				}
				orders = append(orders, order)
			}
			log.Info("fxapp: sample orders are stored", "orders", len(orders))
			if err := printTable(out, w.Layout(), orders); err != nil {
				return err
			}
			if st := w.Status(); st.Floor.After(st.Now) {
				_, err := fmt.Fprintf(out, "These times are %v ahead of the clock, so that they lie above all ids that a lost database may have given out.\n", st.Floor.Sub(st.Now).Round(time.Second))
				return err
			}
			return nil
		}))
	}))
}

func sampleOrders() []newOrder {
	ada := newCustomer{Name: "Ada Lovelace", Email: "ada@example.org"}
	grace := newCustomer{Name: "Grace Hopper", Email: "grace@example.org"}
	return []newOrder{
		{Customer: ada, Items: []newItem{{Product: "tea", Quantity: 2, PriceCents: 450}, {Product: "scone", Quantity: 1, PriceCents: 320}}},
		{Customer: grace, Items: []newItem{{Product: "coffee", Quantity: 1, PriceCents: 380}}},
		{Customer: ada, Items: []newItem{{Product: "punched cards", Quantity: 100, PriceCents: 12}}},
	}
}
