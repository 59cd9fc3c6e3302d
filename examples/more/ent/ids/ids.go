// Package ids gives Ent entities snowflake ids. Mixin adds the id to a schema, and
// Hook sets the ids of new entities.
//
//	client.Use(ids.Hook(worker))
package ids

import (
	"context"

	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/mixin"

	"github.com/snowlease/snowlease/idworker"
)

// Mixin gives a schema an id that is a BIGINT in the database and a string in JSON,
// because JavaScript rounds numbers of that size.
type Mixin struct{ mixin.Schema }

// Fields returns the id field.
func (Mixin) Fields() []ent.Field {
	return []ent.Field{field.Int64("id").Immutable().StructTag(`json:"id,string"`)}
}

// Hook returns a hook that sets the ids of new entities from worker, unless they are set.
func Hook(worker *idworker.IdWorker) ent.Hook {
	return func(next ent.Mutator) ent.Mutator {
		return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
			keyed, ok := m.(interface {
				ID() (int64, bool)
				SetID(int64)
			})
			if ok && m.Op().Is(ent.OpCreate) {
				if _, set := keyed.ID(); !set {
					id, err := worker.NextIDWait(ctx)
					if err != nil {
						return nil, err
					}
					keyed.SetID(id)
				}
			}
			return next.Mutate(ctx, m)
		})
	}
}
