package entid

import (
	"context"
	"fmt"
	"reflect"

	"entgo.io/ent"

	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/snowflake"
)

// Hook returns a hook that gives new entities ids from source: those whose schema declares a
// key of a type based on int64, unless the key is set to another value than 0. Without an id, the entity is not
// created, and the error wraps that of source.
func Hook(source snowflake.Source) ent.Hook {
	return func(next ent.Mutator) ent.Mutator {
		return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
			if m.Op().Is(ent.OpCreate) {
				if err := fill(ctx, source, m); err != nil {
					return nil, err
				}
			}
			return next.Mutate(ctx, m)
		})
	}
}

// fill sets the key of one entity. Its type is known to the generated code only.
func fill(ctx context.Context, source snowflake.Source, m ent.Mutation) error {
	v := reflect.ValueOf(m)
	get, set := v.MethodByName("ID"), v.MethodByName("SetID")
	if !get.IsValid() || !set.IsValid() || set.Type().NumIn() != 1 || set.Type().In(0).Kind() != reflect.Int64 {
		return nil
	}
	if found := get.Call(nil); len(found) != 2 || found[1].Bool() && !found[0].IsZero() {
		return nil
	}
	ids, err := reserve(ctx, source, 1, m.Type())
	if err == nil {
		set.Call([]reflect.Value{reflect.ValueOf(ids[0]).Convert(set.Type().In(0))})
	}
	return err
}

func reserve(ctx context.Context, source snowflake.Source, n int, entity string) ([]int64, error) {
	if fault.Nil(source) {
		return nil, fmt.Errorf("entid: no id for a new %s: the source of ids is nil (%T): give the *snowlease.Worker", entity, source)
	}
	ids := make([]int64, n)
	if err := source.NextIDs(ctx, ids); err != nil {
		return nil, fmt.Errorf("entid: no id for a new %s: %w", entity, err)
	}
	return ids, nil
}
