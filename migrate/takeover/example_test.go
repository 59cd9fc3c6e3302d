package takeover_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/migrate/takeover"
	"github.com/snowlease/snowlease/snowflake"
)

// This example moves a namespace from 8 worker ids to 32 without downtime.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "takeover")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	center, err := dbseq.Open("sqlite", filepath.Join(dir, "shop.db")) // or redisseq.New
	if err != nil {
		log.Fatal(err)
	}
	defer center.Close()
	side := func(namespace string, l snowflake.Layout, first, last int64) takeover.Side {
		return takeover.Side{Center: center, Layout: l, Request: lease.Request{ // idworker.Config.Request
			Namespace: namespace, Layout: l.String(), Owner: lease.NewOwner(), Pool: l.Workers(),
			First: first, Last: last, TTL: 30 * time.Second, MaxTTL: 30 * time.Second, Skew: 2 * time.Second,
		}}
	}
	three, five := snowflake.Layout{WorkerBits: 3}.WithDefaults(), snowflake.Layout{}.WithDefaults()
	for _, s := range []takeover.Side{side("orders", three, 0, 7), side("orders-2", five, 0, 31)} {
		if err := center.Extras().Init(ctx, s.Request); err != nil {
			fmt.Println(err)
		}
	}

	// While old processes use 0-3, which worker ids may new ones use?
	fmt.Println(takeover.Apart(side("orders", three, 0, 3), side("orders-2", five, 0, 31)))
	fmt.Println(takeover.Apart(side("orders", three, 0, 3), side("orders-2", five, 16, 31)))

	// After the last old process has stopped, new ones may use them all.
	old, rest := side("orders", three, 0, 7), side("orders-2", five, 0, 15)
	last, err := center.Acquire(ctx, side("orders", three, 3, 3).Request)
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
	// takeover: ids of both sides can be equal: the old worker ids 0-3 have the bits of the new worker ids 0-15; exclude these from workers of the new processes
	// <nil>
	// true
	// true <nil>
}
