// Package gormplugin fills the primary keys of GORM models with snowflake ids. Models
// need no code for ids:
//
//	type Order struct {
//		gormplugin.Model // ID int64, CreatedAt, UpdatedAt, DeletedAt
//		Total int64
//	}
//
//	err := db.Use(gormplugin.New(worker, gormplugin.Config{}))
//	err = db.Create(&Order{Total: 5}).Error // order.ID is set
//
// Do not use it for tables whose rows the database should continue to number. Before you use it
// for a table with rows, call CheckTable, which reports what must change first.
//
// fx applications list idworker.GORM instead.
//
// # What is filled
//
// The plugin fills zero keys in everything that GORM inserts: structs, slices, arrays,
// pointers, batches, maps with a Model, Save, FirstOrCreate, generics, and associations of all
// kinds with their join rows. A key is zero if the column would store NULL, empty text or 0 for
// it. Examples are a pointer to 0, and "0" in a map that was decoded from JSON. Text that is
// not a number is an ErrKey if the column holds numbers. The plugin does not change other keys.
//
// A list with the same pointer to a zero key more than once is a gorm.ErrInvalidValue: list a
// copy of the row. In an INSERT with ON CONFLICT, the pointer becomes one row.
//
// DryRun and ToSQL use ids too. The values keep them, and a later Create uses them.
//
// A key may be:
//
//   - an int64 or uint64, an int or uint of 64 bits, or a type based on these, such as
//     snowflake.ID or publicid.ID;
//   - a string, which receives the id in decimal, up to 19 characters;
//   - a type whose Scan accepts an int64 and whose Value returns it, such as sql.NullInt64;
//   - a pointer to one of these;
//   - any type for which Config.Convert returns values.
//
// A key of 32 bits or fewer is an error (ErrKey). So is an id that does not fit the column that
// the model declares with the tags size: or type:, by the rules of the database in use. The
// plugin does not read the table; CheckTable does. Without strict sql_mode, MySQL stores
// 2147483647 for an id in an INT column.
//
// In a composite key, the plugin fills the field tagged `idworker:"true"`. Without such a tag,
// it fills GORM's prioritized field: ID, or the only AUTO_INCREMENT field.
//
// A key tagged `idworker:"segment=invoices"` gets numbers of that segment instead of ids (see
// idworker.Numbers), and may have 32 bits or fewer. A segment in the application's own SQLite
// file cannot reserve numbers while the application has a transaction open: call the segment's
// NextIDs before the transaction begins.
//
// # What is left alone
//
//   - Keys tagged `idworker:"-"`, and keys in an embedded struct with that tag.
//   - With Config.TaggedOnly, untagged keys. (A Model's key is tagged.)
//   - Tables in Config.Exclude, and sessions with SkipKey.
//   - INSERTs that Omit the key, and keys that GORM may not write (`gorm:"<-:false"`).
//   - Untagged keys that have another source: a `default:` other than 0 and NULL, a foreign key
//     of a belongs-to association, or a column of type uuid.
//   - Untagged keys of types that the plugin does not support.
//   - Statements without a model, such as db.Table("orders").Create(map), and structs without a
//     primary key, even if the table has one.
//   - Composite keys in which no field is tagged, named ID or AUTO_INCREMENT.
//
// If the database numbers such rows, as it does with AUTO_INCREMENT and with every integer key
// of SQLite, it continues after the largest id. A later id can then equal such a number, and
// its INSERT fails. So either all writers of a table use ids, or none.
//
// # Hooks
//
// The plugin runs before the model's hooks, so BeforeSave and BeforeCreate can use the id or
// replace it. It also runs with SkipHooks. Hooks that expect a zero key need a change:
//
//   - A hook that makes a key only if the key is zero, such as a UUID in a string, finds an id.
//     Tag such keys "-".
//   - BeforeSave cannot recognize a new row by its zero key. Use BeforeCreate, which GORM calls
//     only for an INSERT.
//   - A BeforeCreate that inserts a copy of its row must set the copy's key to zero.
//
// # AUTO_INCREMENT
//
// The plugin also fills AUTO_INCREMENT keys, such as the key of gorm.Model, and warns about
// each model once through GORM's logger. Tag the key `gorm:"primaryKey;autoIncrement:false"`;
// GORM does not change an existing table.
//
// # Errors
//
// If the source has no ids, a statement fails before BEGIN and before any SQL, and its values
// do not change. The error wraps the source's error (ErrNotStarted, ErrLeaseExpired, ErrClosed
// or ErrExhausted of package snowlease; for a segment, an error of package numbers) or the
// context's error. A key that cannot be filled is an ErrKey. If the lease has expired, the
// statement waits for a renewal or a new lease until its context ends or Config.Wait has
// passed. It holds no connection while it waits, except for associated rows and later batches,
// which GORM inserts in a transaction. A statement reserves all of its ids together.
//
// If a hook or BEGIN fails, the plugin clears the ids that it gave the values, so that the
// values are as with GORM alone. It also does so, with and without TranslateError, if the error
// is gorm.ErrDuplicatedKey, gorm.ErrForeignKeyViolated or gorm.ErrCheckConstraintViolated
// (which the MySQL driver does not report). GORM takes a value with a key for an existing row:
// Save would update that row, without BeforeCreate. On tables without transactions (MyISAM,
// Aria), such an INSERT may have stored a part of a list; the plugin clears the ids of the
// whole list.
//
// After any other error, such as a lost connection, the row may be stored. The values keep
// their ids, so that another Create does not store a second row. If it fails with
// gorm.ErrDuplicatedKey, the first Create may have succeeded.
//
// If an INSERT succeeds, and a later hook, association or statement fails and rolls the
// transaction back, the values keep their ids, as with GORM alone.
//
// # Upserts
//
// If ON CONFLICT DO UPDATE finds a row by another unique key, the row keeps its primary key.
// The value gets that key before GORM saves its associations. On databases with RETURNING
// (PostgreSQL, SQLite, MariaDB), the plugin adds that clause, and RowsAffected counts rows.
// (MySQL counts an update as 2.) If the statement has its own RETURNING clause, list the key in
// it.
//
// On MySQL, and with DisableWithReturning, the plugin gets the key of a single row with
// LAST_INSERT_ID, which it adds to the clause. For several rows:
//
//   - If associations refer to the rows, the plugin queries the existing rows with one SELECT,
//     and then with one statement for each, on the connection of the INSERT. For keys in text
//     columns, the statement fails with gorm.ErrPrimaryKeyRequired instead, even for one row.
//   - Otherwise a value keeps its new id, which no row has. Reload the row by its other key into
//     a new value, because First and Find also query the key in the value.
//
// On MySQL, maps keep the new id.
//
// With DO NOTHING, RowsAffected counts only the inserted rows, and with RETURNING each value
// gets the values that the database made for its row. MySQL and MariaDB return the key of an
// existing row, as above. PostgreSQL and SQLite do not, and the value keeps an id that no row
// has. GORM saves the value's associations with that id: if it has any, query the row first.
// For AUTO_INCREMENT models, MariaDB also returns and counts the existing row.
//
// # Limits of GORM
//
//   - Create(row) by value cannot set the row's key. The plugin returns gorm.ErrInvalidValue.
//     GORM alone panics and leaves a transaction open if the key is AUTO_INCREMENT, and
//     otherwise stores 0.
//   - For several maps of an AUTO_INCREMENT model, GORM writes wrong keys into the maps on
//     MySQL, and fails or mixes up the maps on databases with RETURNING. With the plugin, the
//     maps get the stored values, unless the statement has its own RETURNING clause. With DO
//     NOTHING they get only the key.
//   - Select without the key omits the key, so the stored key would differ from the value's.
//     The plugin adds the key to Select.
//   - If DO NOTHING, IGNORE or a condition (OnConflict.Where) leaves out some of several rows,
//     GORM assigns the returned rows to the first values. With the plugin, each value gets its
//     own row. A value that a condition leaves out keeps a key that no row has, as with DO
//     NOTHING.
//   - With a condition, the plugin matches updated rows to values by OnConflict.Columns. If the
//     stored text differs from the value's, as with a collation that ignores case, the value
//     keeps its own key.
//   - GORM inserts the rows of belongs-to and many2many associations with DO NOTHING and then
//     refers to the key in the value. If the row exists with another primary key, the reference
//     fails or dangles on PostgreSQL and SQLite: query the row first.
//   - With db.Model(&T{}).Create(&u), GORM reads the fields of u by their positions in T,
//     whatever their names. The plugin returns gorm.ErrInvalidValue unless u begins with the
//     fields of T, in the same order.
//   - GORM runs no hooks for maps, Save does not insert them, and a map without a model
//     has no key.
//
// TestWays in this package tests all of this on each dialect.
package gormplugin
