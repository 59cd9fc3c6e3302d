// Package gormplugin fills the primary keys of GORM models with snowflake ids, so
// that models hold no line of id code:
//
//	type Order struct {
//		gormplugin.Model // ID int64, CreatedAt, UpdatedAt, DeletedAt
//		Total int64
//	}
//
//	err := db.Use(gormplugin.New(worker, gormplugin.Config{}))
//	err = db.Create(&Order{Total: 5}).Error // order.ID is set
//
// Do not use it where the database numbers the rows and is to go on with that. Before
// a table that has rows goes over to ids, CheckTable says what stands in the way.
//
// # With fx
//
// List Module before every module that writes:
//
//	fx.New(
//		idworker.Module,
//		gormplugin.Module, // first of those that use the *gorm.DB
//		orders.Module,
//	)
//
// fx runs start hooks in the order in which things are built, and stop hooks in the
// reverse one: so the worker starts before whoever inserts in a start hook and stops
// after whoever inserts in a stop hook. In the other order such an INSERT fails with
// snowflake.ErrNotStarted or snowflake.ErrStopped, and the error names this remedy.
//
// # What is filled
//
// Keys that are zero, in whatever way GORM inserts: struct, slice, array, pointers,
// CreateInBatches, maps with a Model, Save, FirstOrCreate, generics, associations of
// all kinds with their join rows. Keys that are set stay; so do those that a
// BeforeCreate hook sets, which sees the id. A pointer to 0 and a valid
// sql.NullInt64 of 0 are set, as they are for GORM.
//
// Kinds: int64, uint64, and int, uint where they have 64 bits, types of these such as
// snowflake.ID; string (decimal); pointers to all of them; types that take an int64
// by Scan and give it back by Value, such as sql.NullInt64; anything else by
// Config.Convert. A key of 32 bits or fewer is an error (ErrKey), never a truncation.
//
// Of a composite key the field is filled that GORM prefers (ID, else the one
// AUTO_INCREMENT field), or the one tagged `idworker:"true"`.
//
// A key tagged `idworker:"segment=invoices"` is filled with the numbers of that segment
// instead (see idworker.Segments), and may have fewer than 64 bits. A segment that is
// kept in the same SQLite file cannot be written while a transaction of the application
// is: there take the numbers before it begins, by Segment.NextIDs.
//
// # What is left alone
//
//   - models whose key, or the embedded struct that holds it, is tagged `idworker:"-"`;
//   - with ScopeTagged, all that are not tagged `idworker:"true"`;
//   - tables in Config.Exclude, and sessions with SkipKey;
//   - INSERTs that Omit the key; keys that GORM may not write (`gorm:"<-:false"`);
//   - unless they are tagged "true": keys that have another source (a `default:` of
//     the database, a foreign key of a belongs-to, columns of type uuid) and keys of
//     kinds that the plugin does not know;
//   - statements without a model, where there is no key to see, such as db.Table("orders").Create(map).
//
// The plugin comes before the hooks: a hook that makes a key only where there is
// none, such as a UUID in a string, finds an id there. Tag such keys "-".
//
// A model whose key is AUTO_INCREMENT, as in gorm.Model, is filled and warned about
// once through GORM's logger: tag the key `gorm:"primaryKey;autoIncrement:false"`.
// GORM does not take AUTO_INCREMENT off a table that exists.
//
// # Errors
//
// Where there are no ids the statement fails before any SQL and before BEGIN, and
// nothing is changed in its values; errors.Is finds snowflake.ErrNotStarted,
// ErrLeaseExpired, ErrStopped, ErrExhausted and the context's error. An expired lease
// is waited for, as long as the statement's context and Config.Wait allow, without a
// connection; but rows of associations and of later batches are filled within the
// transaction that GORM has begun for them. A statement takes its ids by one
// reservation. Ids of a failed INSERT stay in the values: the next try uses them.
//
// # Upserts
//
// A row that ON CONFLICT DO UPDATE meets by another unique key keeps its own key. The
// value holds that key afterwards where the database knows RETURNING (PostgreSQL,
// SQLite, MariaDB), which the plugin adds; RowsAffected then counts rows, not MySQL's
// 2 for an update. On MySQL, and with GORM's DisableWithReturning, the value holds the
// new id, which is in no table: reload it by the other key.
//
// With DO NOTHING no database tells the key of the row that was there: a value that was
// left out holds an id that is in no table, and RowsAffected counts the others.
//
// # What GORM does not do
//
//   - Create(row) by value cannot take an id: gorm.ErrInvalidValue instead of GORM's
//     panic, which leaves a transaction open.
//   - Several maps of an AUTO_INCREMENT model: GORM renumbers them wrongly on MySQL
//     and fails or mixes them up where the database knows RETURNING. With the plugin
//     the maps hold what is in the table, unless the statement has a RETURNING clause
//     of its own.
//   - Select without the key would store another key than the value's: the plugin
//     adds it.
//   - An upsert of several rows with a condition (OnConflict.Where) gives the keys of
//     the rows that it wrote to the first values: with the plugin each value keeps its
//     own.
//   - GORM inserts associated rows with DO NOTHING and then refers to the key that the
//     value holds. Where such a row is there under another unique key, the reference
//     fails or dangles: look it up first.
//   - Hooks do not run for maps, Save does not insert them, and a map without a model
//     has no key.
//
// TestWays in this package has all of this as a table that runs on each dialect.
package gormplugin
