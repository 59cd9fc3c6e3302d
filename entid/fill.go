package entid

import (
	"context"
	"fmt"
	"reflect"

	"entgo.io/ent"

	"github.com/snowlease/snowlease/snowflake"
)

// Fill sets ids from source in the builders that have none or zero. It reserves all of them
// together, and the ids ascend in the order of the builders. Errors: those of source, and one
// for keys that are too small for ids. On error, no builder is changed.
//
//	orders := []*ent.OrderCreate{ ... }
//	err := entid.Fill(ctx, worker, orders...)
//	...
//	err = client.Order.CreateBulk(orders...).Exec(ctx)
func Fill[B interface{ Mutation() M }, M interface {
	ent.Mutation
	ID() (T, bool)
	SetID(T)
}, T ~int | ~int64 | ~uint | ~uint64 | ~string](ctx context.Context, source snowflake.Source, builders ...B) error {
	var open []M
	var zero T
	if _, ok := keyOf(reflect.TypeFor[T](), 0); !ok { // an int of 32 bits
		return fmt.Errorf("entid: keys of type %T are too small for ids", zero)
	}
	for _, b := range builders {
		if id, set := b.Mutation().ID(); !set || id == zero {
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
		k, _ := keyOf(reflect.TypeFor[T](), ids[i])
		m.SetID(k.Interface().(T))
	}
	return nil
}
