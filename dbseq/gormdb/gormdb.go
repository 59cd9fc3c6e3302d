// Package gormdb lets package dbseq run on the database of a *gorm.DB.
//
//	center, err := gormdb.Center(db)
//	defer center.Close()
//
// A center opens its own pool next to the application's, with the same driver and DSN, as
// dbseq.Open does. It takes nothing else from the *gorm.DB, so no plugin, callback, logger,
// replica, transaction or busy pool of the application interferes with renewals. If gorm
// was opened on a connection instead of a DSN, or on an in-memory database, the center
// shares the application's pool and says so in Warnings: renewals then wait while all its
// connections are busy, and nothing may move a connection to another database or schema before
// the first call: see dbseq.New, which takes another pool. A pool in memory needs
// SetMaxOpenConns(1).
//
// Tx gives the numbers of package series the transaction of a *gorm.DB.
package gormdb

import (
	"errors"
	"fmt"
	"reflect"

	"gorm.io/gorm"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/option"
	"github.com/snowlease/snowlease/internal/sqlconn"
	"github.com/snowlease/snowlease/numbers"
)

// Center returns a center on the database of db: MySQL, MariaDB, PostgreSQL or SQLite. Like
// dbseq.Open, it opens no connection. The caller closes the center after its last use, and
// db itself.
//
// It returns an error if an option is invalid, or if db is nil, on another kind of database,
// or has a DSN that its driver refuses. If db is in a transaction, the center does not use that.
func Center(db *gorm.DB, opts ...dbseq.Option) (*dbseq.Center, error) {
	if db == nil || db.Config == nil || db.Dialector == nil {
		return nil, errors.New("gormdb: the *gorm.DB is nil or was not opened by gorm.Open")
	}
	// db.Statement could be one of a transaction, which would hide leases until it ends.
	app, err := (&gorm.DB{Config: db.Config}).DB()
	if err != nil {
		return nil, fmt.Errorf("gormdb: the *gorm.DB is not on a *sql.DB (%w): call dbseq.New with one", err)
	}
	dsn, why := dsnOf(db.Dialector)
	beside := option.Func[sqlconn.Options](func(o *sqlconn.Options) error {
		o.App, o.Share = app, why
		return nil
	})
	return dbseq.Open(db.Name(), dsn, append([]dbseq.Option{beside}, opts...)...)
}

// Tx returns the transaction that tx is in, for Series.NextTx: in a function that was given to
// db.Transaction, and in the hooks of a Create, a Save, an Update or a Delete, unless
// SkipDefaultTransaction is set. The number is then taken by that transaction, and goes back with it
// or with its savepoint, which a nested db.Transaction sets.
//
//	func (i *Invoice) BeforeCreate(tx *gorm.DB) error {
//		number, err := invoices.NextTx(tx.Statement.Context, gormdb.Tx(tx), i.TenantID)
//		i.Number = number.String()
//		return err
//	}
//
// If tx is in no transaction, Tx returns nil, and the call that uses it returns
// numbers.ErrTransaction and takes no number. The same happens in a hook with gorm.io/sharding, which
// hides the transaction: call it in the function that you pass to db.Transaction.
func Tx(tx *gorm.DB) numbers.Tx {
	if tx == nil || tx.Statement == nil {
		return nil
	}
	pool := tx.Statement.ConnPool
	if prepared, ok := pool.(*gorm.PreparedStmtTX); ok { // whose cache of statements is the application's
		pool = prepared.Tx
	}
	switch pool.(type) {
	case gorm.TxBeginner, gorm.ConnPoolBeginner: // a pool, although it may have a Commit
		return nil
	}
	in, _ := pool.(numbers.Tx)
	return in
}

// dsnOf returns the DSN of a dialector, or why there is none. It uses reflection,
// because importing the dialector's package would link a driver.
func dsnOf(d gorm.Dialector) (dsn, why string) {
	v := reflect.Indirect(reflect.ValueOf(d))
	if v.Kind() == reflect.Struct && v.FieldByName("Config").IsValid() {
		v = reflect.Indirect(v.FieldByName("Config"))
	}
	field := func(name string, kind reflect.Kind) (f reflect.Value, set bool) {
		if v.Kind() == reflect.Struct {
			f = v.FieldByName(name)
		}
		return f, f.Kind() == kind && !f.IsZero()
	}
	if _, set := field("Conn", reflect.Interface); set {
		return "", "gorm was opened on a connection, not on a DSN"
	}
	if hooks, set := field("OptionOpenDB", reflect.Slice); set && hooks.Len() > 0 {
		return "", "gorm's connections are set up by functions (OptionOpenDB)"
	}
	if s, set := field("DSN", reflect.String); set {
		return s.String(), ""
	}
	return "", fmt.Sprintf("the dialector %T shows no DSN", d)
}
