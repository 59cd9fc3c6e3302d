package takeover_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/migrate/takeover"
	"github.com/snowlease/snowlease/snowflake"
)

// This example moves a namespace from 32 worker ids to 1,024 without downtime.
func Example() {
	ctx := context.Background()
	center := memcenter.New() // dbseq.Open or redisseq.New
	side := func(namespace string, l snowflake.Layout, first, last int64) takeover.Side {
		return takeover.Side{Center: center, Layout: l, Request: lease.Request{ // idworker.Config.Request
			Namespace: namespace, Layout: l.String(), Owner: lease.NewOwner(), Pool: l.Workers(),
			First: first, Last: last, TTL: 30 * time.Second, MaxTTL: 30 * time.Second, Skew: 2 * time.Second,
		}}
	}
	five, ten := snowflake.Layout{}.WithDefaults(), snowflake.Layout{WorkerBits: 10}.WithDefaults()
	for _, s := range []takeover.Side{side("orders", five, 0, 31), side("orders-2", ten, 0, 1023)} {
		if err := center.Init(ctx, s.Request); err != nil {
			fmt.Println(err)
		}
	}

	// While old processes use 0-15, which worker ids may new ones use?
	fmt.Println(takeover.Apart(side("orders", five, 0, 15), side("orders-2", ten, 0, 1023)))
	fmt.Println(takeover.Apart(side("orders", five, 0, 15), side("orders-2", ten, 512, 1023)))

	// After the last old process has stopped, new ones may use them all.
	old, rest := side("orders", five, 0, 31), side("orders-2", ten, 0, 511)
	last, err := center.Acquire(ctx, side("orders", five, 3, 3).Request)
	if err != nil {
		fmt.Println(err)
	}
	_, err = takeover.Take(ctx, old, rest)
	var live *takeover.LiveError
	fmt.Println(errors.As(err, &live) && live.Worker == 3)
	if err := center.Release(ctx, last, last.Now); err != nil {
		fmt.Println(err)
	}
	report, err := takeover.Take(ctx, old, rest)
	fmt.Println(report.Floor >= last.Now, err)
	// Output:
	// takeover: ids of both sides can be equal: the old worker ids 0-15 have the bits of the new worker ids 0-511; exclude these from workers of the new processes
	// <nil>
	// true
	// true <nil>
}
