// Package entid fills the keys of Ent's entities with snowflake ids. Mixin declares the key
// in a schema, and Hook fills it:
//
//	func (Order) Mixin() []ent.Mixin { return []ent.Mixin{entid.Mixin[snowflake.ID]{}} }
//
//	client.Use(entid.Hook(worker))
//	o, err := client.Order.Create().SetTotal(5).Save(ctx) // o.ID is set
//
// The package uses a hook because a DefaultFunc cannot return an error (ent/ent#1153). If there
// is no id, the hook's error wraps the source's error, and Ent sends no SQL. To fill only some
// types, call client.Order.Use for these in place of client.Use.
//
// # Ids that people see
//
// A Mixin accepts a publicid.ID too. Ent prints the name that package reflect has for a type,
// which for a generic type is not valid Go. So the generated code uses an alias, which you
// declare next to the kind and name after it. Put the kinds into a package of their own,
// because the generated code imports it:
//
//	package ids
//
//	type OrderID = publicid.ID[Order]
//
//	type Order struct{}
//
//	func (Order) Codec() *publicid.Codec { return orderIDs() }
//
//	var orderIDs = sync.OnceValue(func() *publicid.Codec { ... })
//
// With OnceValue, Ent's generator, which imports the schema, runs without the secret. In the
// schema, Field gives the same type to the fields of edges:
//
//	func (Order) Mixin() []ent.Mixin { return []ent.Mixin{entid.Mixin[ids.OrderID]{}} }
//
//	func (Order) Fields() []ent.Field {
//		return []ent.Field{
//			field.Int64("total"),
//			entid.Field[ids.CustomerID](field.Int64("customer_id")),
//			entid.Field[ids.OrderID](field.Int64("replaces_id").Optional().Nillable()),
//		}
//	}
//
// # Bulks
//
// In CreateBulk, Ent calls the hooks once for each builder, and a hook cannot find out how many
// builders there are. So the hook reserves ids one at a time. Fill reserves all ids together,
// before the bulk. MapCreateBulk makes its builders itself: call NextIDs of the source first,
// and SetID in the function.
//
// # What is left alone
//
//   - Keys that are set. A builder whose INSERT failed keeps its id, so saving it again does
//     not store a second row if the first INSERT succeeded after all.
//   - Keys of several fields, keys of types that cannot hold an id, such as int32 and UUIDs,
//     and keys that no schema declares. The database numbers the latter.
//
// # Limits of Ent
//
//   - Ent runs no hooks for the rows of an edge schema that it inserts with an edge, as
//     AddGroups does with Through. A key of two fields (field.ID) works. If the edge schema has
//     an id of its own, the database refuses these rows: create them through the schema's
//     client.
//   - With UpdateNewValues, an upsert does not change the key of an existing row. The upsert's
//     method ID returns that key. On MySQL and MariaDB, ID returns an error: use Exec.
//   - On MySQL and MariaDB, a bulk of entities with numeric keys writes wrong keys for the
//     edges to other tables, because Ent derives them from LAST_INSERT_ID. Ent does not regard
//     the types of Mixin as numeric, so they are not affected.
//
// TestShop in this package tests all of this on MySQL, MariaDB, PostgreSQL and SQLite, with
// code that Ent generates from testdata/shop.
package entid
