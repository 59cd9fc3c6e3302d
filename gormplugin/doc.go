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
// Do not use it for tables whose rows the database should continue to number. Before
// you switch a table that has rows, call CheckTable, which says what stands in the way.
//
// fx applications list idworker.GORM instead.
//
// # What is filled
//
// The plugin fills zero keys in everything that GORM inserts: structs, slices, arrays,
// pointers, batches, maps with a Model, Save, FirstOrCreate, generics, and associations
// of all kinds with their join rows. A key is zero if the column would store NULL, empty
// text or 0 for it, such as a pointer to 0, or the "0" of a map that comes from JSON. Text
// that is no number is an ErrKey if the column holds numbers. Other keys stay as they are.
//
// If a pointer with a zero key is listed twice, it becomes two rows, as with GORM alone. In
// an INSERT with ON CONFLICT it becomes one.
//
// DryRun and ToSQL take ids too. The values keep them, and a later Create uses them.
//
// A key may be:
//
//   - an int64 or uint64, an int or uint of 64 bits, or a type based on these, such as
//     snowflake.ID or publicid.ID;
//   - a string, which gets the id in decimal, up to 19 characters;
//   - a type whose Scan takes an int64 and whose Value returns it, such as sql.NullInt64;
//   - a pointer to one of these;
//   - any type for which Config.Convert returns values.
//
// A key of 32 bits or fewer is an error (ErrKey), and so is an id that does not fit the
// column that the model declares with the tags size: or type:, as the database in use
// understands the type. The plugin does not read the table; CheckTable does. Without
// strict sql_mode, MySQL stores 2147483647 for an id in an INT column.
//
// In a composite key, the plugin fills the field tagged `idworker:"true"`, or else the
// field that GORM prefers: ID, or the only AUTO_INCREMENT field.
//
// A key tagged `idworker:"segment=invoices"` gets numbers of that segment instead of ids
// (see idworker.Numbers) and may be smaller. A segment in the same SQLite file cannot
// advance during a transaction of the application: get the numbers with its NextIDs
// before the transaction begins.
//
// # What is left alone
//
//   - Keys tagged `idworker:"-"`, or in an embedded struct with that tag.
//   - With Config.TaggedOnly, keys without a tag. (A Model's key is tagged.)
//   - Tables in Config.Exclude, and sessions with SkipKey.
//   - INSERTs that Omit the key, and keys that GORM may not write (`gorm:"<-:false"`).
//   - Keys without a tag that have another source: a `default:` other than 0 and NULL, a
//     foreign key of a belongs-to association, or a column of type uuid.
//   - Keys without a tag of types that the plugin does not know.
//   - Statements without a model, such as db.Table("orders").Create(map), and structs
//     without a primary key, whatever the table has.
//   - Composite keys in which no field is tagged, called ID or AUTO_INCREMENT.
//
// If the database numbers such rows, as AUTO_INCREMENT and every integer key of SQLite do,
// it continues after the largest id. A later id can then equal such a number, and its
// INSERT fails. So let every writer of a table take ids, or none.
//
// # Hooks
//
// The plugin runs before the model's hooks, and with SkipHooks too, so that BeforeSave and BeforeCreate can use
// the id, and replace it. Hooks that expect no key need a change:
//
//   - A hook that makes a key only if there is none, such as a UUID in a string, finds an
//     id. Tag such keys "-".
//   - BeforeSave cannot tell a new row by a zero key. Use BeforeCreate, which GORM calls
//     only for an INSERT.
//   - A BeforeCreate that inserts a copy of its row must set the copy's key to zero.
//
// # AUTO_INCREMENT
//
// The plugin also fills AUTO_INCREMENT keys, such as that of gorm.Model, and warns about
// each model once through GORM's logger. Tag the key
// `gorm:"primaryKey;autoIncrement:false"`; GORM does not change an existing table.
//
// # Errors
//
// Without ids, a statement fails before BEGIN and before any SQL, and its values do not
// change. The error wraps that of the source (ErrNotStarted, ErrLeaseExpired,
// ErrClosed or ErrExhausted of package snowlease; for a segment, an error of package
// segment) or the context's error. A key that cannot be filled is an ErrKey. If the
// lease has expired, the statement waits for its renewal or another one until its
// context ends or Config.Wait has passed. It holds no connection meanwhile, except for
// associated rows and later batches, which GORM inserts in a transaction. A statement
// reserves all of its ids at once.
//
// If the INSERT fails, its values lose the ids that the plugin gave them, as with GORM
// alone, when a hook or BEGIN failed, or when the error is gorm.ErrDuplicatedKey,
// gorm.ErrForeignKeyViolated or gorm.ErrCheckConstraintViolated (which the driver for MySQL
// does not know), also without TranslateError. To GORM a value with a key is a row that
// exists: Save would update it, without BeforeCreate. A list on tables without transactions
// (MyISAM, Aria) may be stored in part. Its values lose their ids all the same.
//
// After any other error the values keep their ids. The row may be stored, as after a lost
// connection, and another Create stores no second one. If that fails with
// gorm.ErrDuplicatedKey, the first one may have succeeded.
//
// As with GORM alone, values also keep the ids of an INSERT that succeeded if a later hook,
// association or statement fails and the transaction is rolled back.
//
// # Upserts
//
// A row that ON CONFLICT DO UPDATE finds by another unique key keeps its primary key, and
// the value gets that key before GORM saves its associations. On databases with RETURNING
// (PostgreSQL, SQLite, MariaDB), the plugin adds that clause, and RowsAffected counts
// rows, where MySQL counts an update as 2. If the statement has a RETURNING clause of its
// own, list the key in it.
//
// MySQL, and GORM with DisableWithReturning, tell the key of one row by LAST_INSERT_ID,
// which the plugin adds to the clause. For several rows:
//
//   - If associations refer to them, the plugin looks for the rows that were found, with
//     one SELECT and then a statement for each, where the INSERT went. For keys in text columns, the statement
//     fails with gorm.ErrPrimaryKeyRequired instead, also for one row.
//   - Otherwise a value keeps its new id, which no row has: reload the row by its other key, into
//     a new value: First and Find look for the key in the value too.
//
// On MySQL, maps keep the new id.
//
// With DO NOTHING, RowsAffected counts only the inserted rows, and with RETURNING each
// value gets what the database made for its row. MySQL and MariaDB tell the key of a row
// that is there, as above. PostgreSQL and SQLite do not, and the value keeps an id that no
// row has. GORM saves its associations with that id: look the row up first if it has any.
// For AUTO_INCREMENT models MariaDB returns that row too, and counts it.
//
// # Limits of GORM
//
//   - Create(row) by value cannot set the row's key. The plugin returns
//     gorm.ErrInvalidValue. GORM alone panics and leaves a transaction open if the key is
//     AUTO_INCREMENT, and stores 0 otherwise.
//   - For several maps of an AUTO_INCREMENT model, GORM writes wrong keys back on MySQL,
//     and fails or mixes up the maps on databases with RETURNING. With the plugin the
//     maps get the stored values, unless the statement has its own RETURNING clause. With
//     DO NOTHING they get only the key.
//   - Select without the key omits it, so the stored key would differ from the value's.
//     The plugin adds it.
//   - After an INSERT of several rows of which DO NOTHING, IGNORE or a condition
//     (OnConflict.Where) leaves some out, GORM assigns the rows that come back to the first
//     values. With the plugin each value gets its own row. One that a condition leaves out
//     keeps a key that no row has, as with DO NOTHING.
//   - After a condition, the plugin tells an updated row by OnConflict.Columns. If the
//     stored text differs from the value's, as with a collation that ignores case, the
//     value keeps its own key.
//   - GORM inserts the rows of belongs-to and many2many associations with DO NOTHING and
//     then refers to the key in the value. If the row exists under another unique key, the reference fails or dangles on
//     PostgreSQL and SQLite: look the row up first.
//   - With db.Model(&T{}).Create(&u), GORM reads the fields of u in the places of those of
//     T, whatever their names. The types must have the same fields in the same order. The
//     plugin checks only the key, and returns gorm.ErrInvalidValue if u has none there.
//   - GORM runs no hooks for maps, Save does not insert them, and a map without a model
//     has no key.
//
// TestWays in this package tests all of this on each dialect.
package gormplugin
