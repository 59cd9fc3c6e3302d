// Package schema defines the entities from which Ent generates code.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"

	"github.com/snowlease/snowlease/entid"
	"github.com/snowlease/snowlease/snowflake"

	"shop/ids"
)

// Customer has an id that is a string of digits in JSON.
type Customer struct{ ent.Schema }

// Mixin adds the id.
func (Customer) Mixin() []ent.Mixin { return []ent.Mixin{entid.Mixin[snowflake.ID]{}} }

// Fields returns the other fields.
func (Customer) Fields() []ent.Field {
	return []ent.Field{field.String("email").Unique(), field.Int("visits").Default(1)}
}

// Edges returns the edges.
func (Customer) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("orders", Order.Type),
		edge.To("watched", Tag.Type).Through("watches", Watch.Type),
		edge.To("rated", Tag.Type).Through("ratings", Rating.Type),
	}
}

// Order has an id that is a text such as ord_3z5h8216y10geyvz9xdn5qawmb in JSON.
type Order struct{ ent.Schema }

// Mixin adds the id.
func (Order) Mixin() []ent.Mixin { return []ent.Mixin{entid.Mixin[ids.OrderID]{}} }

// Fields returns the other fields. Those of edges have the type of the key they refer to.
func (Order) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("total"),
		entid.Field[snowflake.ID](field.Int64("customer_id")),
		entid.Field[ids.OrderID](field.Int64("replaces_id").Optional().Nillable()),
	}
}

// Edges returns the edges.
func (Order) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("customer", Customer.Type).Ref("orders").Field("customer_id").Unique().Required(),
		edge.To("replaced_by", Order.Type).From("replaces").Field("replaces_id").Unique(),
		edge.To("tags", Tag.Type),
		edge.To("parcels", Parcel.Type), // with a foreign key that is no field
	}
}

// Tag has a key that is a plain uint64.
type Tag struct{ ent.Schema }

// Fields returns the fields.
func (Tag) Fields() []ent.Field {
	return []ent.Field{
		field.Uint64("id").Annotations(entsql.Annotation{Incremental: new(bool)}),
		field.String("name").Unique(),
	}
}

// Edges returns the edges.
func (Tag) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("orders", Order.Type).Ref("tags"),
		edge.From("watchers", Customer.Type).Ref("watched").Through("watches", Watch.Type),
		edge.From("raters", Customer.Type).Ref("rated").Through("ratings", Rating.Type),
	}
}

// Note has a key that is text.
type Note struct{ ent.Schema }

// Fields returns the fields.
func (Note) Fields() []ent.Field { return []ent.Field{field.String("id")} }

// Parcel is numbered by the database.
type Parcel struct{ ent.Schema }

// Edges returns the edges.
func (Parcel) Edges() []ent.Edge {
	return []ent.Edge{edge.From("order", Order.Type).Ref("parcels").Unique()}
}

// Watch is the edge between customers and the tags that they watch. Its key has two fields.
type Watch struct{ ent.Schema }

// Annotations sets the key.
func (Watch) Annotations() []schema.Annotation {
	return []schema.Annotation{field.ID("customer_id", "tag_id")}
}

// Fields returns the fields.
func (Watch) Fields() []ent.Field {
	return []ent.Field{entid.Field[snowflake.ID](field.Int64("customer_id")), field.Uint64("tag_id")}
}

// Edges returns the edges.
func (Watch) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("customer", Customer.Type).Unique().Required().Field("customer_id"),
		edge.To("tag", Tag.Type).Unique().Required().Field("tag_id"),
	}
}

// Rating is the edge between customers and the tags that they rate. It has an id of its own.
type Rating struct{ ent.Schema }

// Mixin adds the id.
func (Rating) Mixin() []ent.Mixin { return []ent.Mixin{entid.Mixin[snowflake.ID]{}} }

// Fields returns the other fields.
func (Rating) Fields() []ent.Field {
	return []ent.Field{entid.Field[snowflake.ID](field.Int64("customer_id")), field.Uint64("tag_id"), field.Int("stars").Default(5)}
}

// Edges returns the edges.
func (Rating) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("customer", Customer.Type).Unique().Required().Field("customer_id"),
		edge.To("tag", Tag.Type).Unique().Required().Field("tag_id"),
	}
}
