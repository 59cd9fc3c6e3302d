// Package schema defines the entities from which Ent generates code.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"

	"github.com/snowlease/snowlease/examples/more/ent/ids"
)

// Order has a snowflake id from the mixin.
type Order struct{ ent.Schema }

// Mixin returns the mixin that adds the id.
func (Order) Mixin() []ent.Mixin { return []ent.Mixin{ids.Mixin{}} }

// Fields returns the other fields.
func (Order) Fields() []ent.Field { return []ent.Field{field.Int64("total")} }
