package entid

import (
	"context"

	"entgo.io/ent"

	"github.com/snowlease/snowlease/snowflake"
)

// Fill gives the entities that builders create ids from source, unless they have one that is not 0. It makes
// one reservation for all, and the ids rise in the order of the builders. On an error, no
// builder is changed.
//
//	orders := []*ent.OrderCreate{ ... }
//	if err := entid.Fill(ctx, worker, orders...); err != nil {
//		return err
//	}
//	err := client.Order.CreateBulk(orders...).Exec(ctx)
func Fill[B interface{ Mutation() M }, M interface {
	ent.Mutation
	ID() (T, bool)
	SetID(T)
}, T ~int64](ctx context.Context, source snowflake.Source, builders ...B) error {
	var open []M
	for _, b := range builders {
		if id, set := b.Mutation().ID(); !set || id == 0 {
			open = append(open, b.Mutation())
		}
	}
	if len(open) == 0 {
		return nil
	}
	ids, err := reserve(ctx, source, len(open), open[0].Type())
	if err != nil {
		return err
	}
	for i, m := range open {
		m.SetID(T(ids[i]))
	}
	return nil
}
