package entid

import (
	"context"
	"fmt"
	"reflect"
	"strconv"

	"entgo.io/ent"

	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/snowflake"
)

// Hook returns a hook that gives new entities ids from source. It fills a key that the schema
// declares as a 64-bit integer, as a string, which gets the id in decimal, or as a type based
// on one of these, unless the key is set and not zero. If source has no id, Ent does not create
// the entity, and the error wraps the source's error.
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

// fill sets the key of one entity. Only the generated code knows the entity's type.
func fill(ctx context.Context, source snowflake.Source, m ent.Mutation) error {
	v := reflect.ValueOf(m)
	get, set := v.MethodByName("ID"), v.MethodByName("SetID")
	if !get.IsValid() || !set.IsValid() || set.Type().NumIn() != 1 {
		return nil
	}
	if _, ok := keyOf(set.Type().In(0), 0); !ok {
		return nil
	}
	if found := get.Call(nil); len(found) != 2 || found[1].Bool() && !found[0].IsZero() {
		return nil
	}
	ids, err := reserve(ctx, source, 1, m.Type())
	if err == nil {
		k, _ := keyOf(set.Type().In(0), ids[0])
		set.Call([]reflect.Value{k})
	}
	return err
}

// keyOf returns an id as a key of type t. ok is false if no key of the type can hold one.
func keyOf(t reflect.Type, id int64) (k reflect.Value, ok bool) {
	k = reflect.New(t).Elem()
	switch {
	case t.Kind() == reflect.String:
		k.SetString(strconv.FormatInt(id, 10))
	case k.CanInt() && t.Bits() == 64:
		k.SetInt(id)
	case k.CanUint() && t.Bits() == 64:
		k.SetUint(uint64(id))
	default:
		return k, false
	}
	return k, true
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
