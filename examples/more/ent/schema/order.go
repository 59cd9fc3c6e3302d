// Package schema is what Ent generates its code from.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"

	"github.com/snowlease/snowlease/examples/more/ent/ids"
)

// Order has a snowflake id by the mixin.
type Order struct{ ent.Schema }

// Mixin returns the id.
func (Order) Mixin() []ent.Mixin { return []ent.Mixin{ids.Mixin{}} }

// Fields returns the others.
func (Order) Fields() []ent.Field { return []ent.Field{field.Int64("total")} }
