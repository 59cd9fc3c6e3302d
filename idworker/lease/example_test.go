package lease_test

import (
	"context"
	"fmt"

	"github.com/snowlease/snowlease/idworker/lease"
	"github.com/snowlease/snowlease/idworker/snowflake"
	"github.com/snowlease/snowlease/internal/memcenter"
)

// The lean door: a centre, a generator and a keeper, without fx. The centre would be
// redisseq.New(client) or dbseq.New(db).
func Example() {
	ctx := context.Background()
	layout := snowflake.Layout{}
	req := lease.NewRequest("orders", layout)
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
	keeper, err := lease.NewKeeper(lease.KeeperConfig{Center: center, Generator: gen, Request: req})
	if err != nil {
		panic(err)
	}
	if err := keeper.Start(ctx); err != nil { // borrows, then renews in the background
		panic(err)
	}

	id, err := gen.NextID()
	fmt.Println(id > 0, err, keeper.Status().State)
	fmt.Println(keeper.Stop(ctx)) // gives the worker id back
	_, err = gen.NextID()
	fmt.Println(err)
	// Output:
	// true <nil> holding
	// <nil>
	// snowflake: stopped
}
