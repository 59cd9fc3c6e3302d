// Package entid fills the keys of Ent's entities with snowflake ids. Mixin declares the key
// in a schema, and Hook fills it:
//
//	func (Order) Mixin() []ent.Mixin { return []ent.Mixin{entid.Mixin[snowflake.ID]{}} }
//
//	client.Use(entid.Hook(worker))
//	o, err := client.Order.Create().SetTotal(5).Save(ctx) // o.ID is set
//
// A DefaultFunc could not return an error (ent/ent#1153). If there is no id, the hook's error
// wraps that of the source, and Ent sends no SQL. To leave some types to the database, call
// client.Order.Use for the others in place of client.Use.
//
// # Ids that people see
//
// A Mixin takes a publicid.ID too. Ent prints what package reflect calls a type, which for a
// generic type is no Go code. So the generated code uses an alias, which you declare beside
// the kind and name after it. Give the kinds a package of their own, since that code imports
// it:
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
// OnceValue lets Ent's generator, which imports the schema, run without the secret. In the
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
// In CreateBulk, Ent calls the hooks of each builder with the context of the call, and none
// can tell how many builders there are. So the hook reserves an id for each. Fill reserves
// all at once, before the bulk. MapCreateBulk makes its builders itself: call NextIDs of the
// source, and SetID in its function.
//
// # What is left alone
//
//   - Keys that are set. A builder whose INSERT failed keeps its id, so saving it again does
//     not store a second row if the first one was stored after all.
//   - Keys of several fields, of types that hold no id, such as int32 and UUIDs, and those
//     that no schema declares. The database numbers the latter.
//
// # Limits of Ent
//
//   - Ent runs no hooks for the rows of an edge schema that it inserts with an edge, as
//     AddGroups does with Through. A key of two fields (field.ID) works. With an id of its
//     own, the database refuses these rows: create them through the schema's own client.
//   - An upsert of a row that exists leaves it its key if it updates with UpdateNewValues.
//     The upsert's method ID returns that key, except on MySQL and MariaDB, where it is an
//     error: use Exec.
//   - On MySQL and MariaDB, a bulk of entities whose key is a plain number writes wrong
//     keys for the edges to other tables, because Ent derives them from LAST_INSERT_ID. The
//     types of Mixin are no numbers to Ent, so it does not.
//
// TestShop in this package tests all of this on MySQL, MariaDB, PostgreSQL and SQLite, with
// code that Ent generates from testdata/shop.
package entid
