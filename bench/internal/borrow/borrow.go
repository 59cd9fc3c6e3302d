// Package borrow is what the measured programs do once they have a center or a worker.
package borrow

import (
	"context"
	"fmt"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/lease"
)

// Print borrows a worker id from center, prints an id and gives the worker id back. It
// does so through snowlease.Open.
func Print(center lease.Center) error {
	ctx := context.Background()
	w, err := snowlease.Open(ctx, center, snowlease.Config{Namespace: "bench"})
	if err != nil {
		return err
	}
	fmt.Println(w.NextID())
	return w.Close()
}
