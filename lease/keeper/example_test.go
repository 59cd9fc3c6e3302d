package keeper_test

import (
	"context"
	"fmt"

	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/keeper"
	"github.com/snowlease/snowlease/snowflake"
)

// This example uses a center, a generator and a Keeper without fx. A service would use
// redisseq.New(client) or dbseq.Open("mysql", dsn) as the center.
func Example() {
	ctx := context.Background()
	layout := snowflake.Layout{}
	req := keeper.NewRequest("orders", layout)
	req.Holder = "orders-api on host-1"

	center := memcenter.New()
	req.Owner = lease.NewOwner()
	if err := center.Init(ctx, req); err != nil { // nothing was ever lent here
		panic(err)
	}

	gen, err := snowflake.NewGenerator(layout)
	if err != nil {
		panic(err)
	}
	k, err := keeper.New(keeper.Config{Center: center, Generator: gen, Request: req})
	if err != nil {
		panic(err)
	}
	if err := k.Start(ctx); err != nil { // borrows, then renews in the background
		panic(err)
	}

	id, err := gen.NextID()
	fmt.Println(id > 0, err, k.Status().State)
	fmt.Println(k.Stop(ctx)) // gives the worker id back
	_, err = gen.NextID()
	fmt.Println(err)
	// Output:
	// true <nil> holding
	// <nil>
	// snowflake: stopped
}
