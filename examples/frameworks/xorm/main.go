// Xorm is a program whose rows get their ids from a worker.
//
//	cd examples/frameworks && go run ./xorm
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	_ "modernc.org/sqlite" // driver "sqlite"
	"xorm.io/xorm"

	"github.com/snowlease/snowlease/examples/frameworks/shop"
	"github.com/snowlease/snowlease/snowflake"
)

// An Order has a tag pk without autoincr, which xorm gives a key without a tag.
type Order struct {
	ID    snowflake.ID `xorm:"'id' pk BIGINT"`
	Total int64
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) (err error) {
	worker, closer, err := shop.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closer()) }()
	engine, err := xorm.NewEngine("sqlite", "shop.db")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	if err := engine.Sync(new(Order)); err != nil {
		return err
	}

	orders := []Order{{Total: 5}, {Total: 7}}
	ids := make([]int64, len(orders))
	if err := worker.NextIDs(ctx, ids); err != nil {
		return err
	}
	for i := range orders {
		orders[i].ID = snowflake.ID(ids[i])
	}
	if _, err := engine.Context(ctx).Insert(&orders); err != nil {
		return err
	}
	var read Order
	if _, err := engine.Context(ctx).ID(orders[1].ID).Get(&read); err != nil {
		return err
	}
	fmt.Println(read.ID, read.Total)
	return nil
}
