// Package shop is what the programs of this module share: a port, a worker, and a payment
// that takes its time before an order gets its id.
package shop

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/dbseq"
)

// Port is that of the environment variable PORT, or 8080.
func Port() int {
	port, err := strconv.Atoi(os.Getenv("PORT"))
	if err != nil {
		return 8080
	}
	return port
}

// Address is where the programs listen.
func Address() string { return fmt.Sprintf("127.0.0.1:%d", Port()) }

// Open returns a worker whose id is leased from shop.db. The program links a driver with
// the name sqlite. Call closer when nothing asks for ids anymore.
func Open(ctx context.Context) (w *snowlease.Worker, closer func() error, err error) {
	center, err := dbseq.Open("sqlite", "shop.db")
	if err != nil {
		return nil, nil, err
	}
	w, err = snowlease.Open(ctx, center, snowlease.Config{Namespace: "orders"})
	if err != nil {
		return nil, nil, errors.Join(err, center.Close())
	}
	return w, func() error { return errors.Join(w.Close(), center.Close()) }, nil
}

// Order pays for an order and returns its id.
func Order(ctx context.Context, w *snowlease.Worker) (int64, error) {
	if err := Pay(ctx); err != nil {
		return 0, err
	}
	return w.NextIDWait(ctx)
}

// Pay calls the payment service, whose URL is in the environment variable PAYMENTS. Without
// it, orders are free.
func Pay(ctx context.Context) error {
	url := os.Getenv("PAYMENTS")
	if url == "" {
		return nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
