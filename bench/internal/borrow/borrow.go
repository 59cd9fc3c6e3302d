// Package borrow is what the measured programs do once they have a center.
package borrow

import (
	"context"
	"fmt"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/keeper"
	"github.com/snowlease/snowlease/snowflake"
)

// Print borrows a worker id from center, prints an id and gives the worker id back. It
// does so without fx.
func Print(center lease.Center) error {
	layout := snowflake.Layout{}
	gen, err := snowflake.NewGenerator(layout)
	if err != nil {
		return err
	}
	keeper, err := keeper.New(keeper.Config{Center: center, Generator: gen, Request: keeper.NewRequest("bench", layout)})
	if err != nil {
		return err
	}
	if err := keeper.Start(context.Background()); err != nil {
		return err
	}
	fmt.Println(gen.NextID())
	return keeper.Stop(context.Background())
}
