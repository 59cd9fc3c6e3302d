// Package borrow is what the measured programs do once they have a center or a worker.
package borrow

import (
	"context"
	"fmt"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/keeper"
)

// Print borrows a worker id from center, prints an id and gives the worker id back. It
// does so through keeper.Open.
func Print(center lease.Center) error {
	ctx := context.Background()
	k, err := keeper.Open(ctx, keeper.Config{Center: center, Namespace: "bench"})
	if err != nil {
		return err
	}
	fmt.Println(k.NextID())
	return k.Stop(ctx)
}
