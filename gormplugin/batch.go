package gormplugin

import (
	"context"
	"errors"
	"reflect"
	"sync/atomic"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"
	"gorm.io/gorm/utils"
)

// A batch holds the ids of one statement. It is the context of that statement, because GORM
// copies clauses and settings when it begins a transaction, but not the context. Contexts of
// other statements may be derived from it. It fills a cache line.
type batch struct {
	context.Context //nolint:containedctx // a batch is a context
	stmt            *gorm.Statement
	key             *key
	timer           atomic.Pointer[timer] // of the wait for the ids
	id              [1]int64              // the ids and rows if there is one row
	row             [1]uintptr
	*list           // nil for a single struct in a statement without clauses, like most
}

// A list is what other batches have in addition.
type list struct {
	ids   []int64
	rows  []uintptr      // the structs or maps that got ids, in the order of ids
	after func(*gorm.DB) // what settle does in addition, or nil
}

// newBatch returns a batch for n ids, without a list if single is set.
func newBatch(stmt *gorm.Statement, k *key, n int, single bool) *batch {
	if single {
		return &batch{Context: stmt.Context, stmt: stmt, key: k}
	}
	both := &struct {
		batch
		list
	}{}
	b := &both.batch
	b.Context, b.stmt, b.key, b.list = stmt.Context, stmt, k, &both.list
	if b.ids, b.rows = b.id[:], b.row[:0]; n > 1 {
		b.ids, b.rows = make([]int64, n), make([]uintptr, 0, n)
	}
	return b
}

type batchKey struct{}

func (b *batch) Value(k any) any {
	if k == (batchKey{}) {
		return b
	}
	return b.Context.Value(k)
}

// settle is the GORM callback that runs after the INSERT and ends its batch. If the INSERT was
// refused or not sent, it clears the ids that the plugin gave the values: GORM takes a value
// with a key for an existing row, which Save updates and First queries. Otherwise the outcome
// may be unknown, and the values keep their ids so that another attempt cannot store them twice.
func settle(db *gorm.DB) {
	stmt := db.Statement
	b, ok := stmt.Context.Value(batchKey{}).(*batch) // other callbacks may have put a context around it
	if !ok || b.stmt != stmt {
		return
	}
	if stmt.Context == b { // no other callback has put a context around it
		stmt.Context = b.Context
	}
	unstored := db.Error != nil && (stmt.SQL.Len() == 0 || refused(db))
	if b.list != nil && b.after != nil {
		b.after(db)
	}
	if unstored {
		b.takeBack(stmt)
	}
	if b.row[0] = 0; b.list != nil {
		*b.list = list{}
	}
}

// refused reports whether the statement's error proves that the INSERT stored nothing. The
// proof holds for tables with transactions; others may have stored the rows before the refused
// one.
func refused(db *gorm.DB) bool {
	is := func(err error) bool {
		return errors.Is(err, gorm.ErrDuplicatedKey) || errors.Is(err, gorm.ErrForeignKeyViolated) ||
			errors.Is(err, gorm.ErrCheckConstraintViolated) || errors.Is(err, gorm.ErrInvalidData)
	}
	if is(db.Error) {
		return true
	}
	t, ok := db.Dialector.(gorm.ErrorTranslator)
	return ok && is(t.Translate(db.Error))
}

// takeBack zeroes the keys that b set. It leaves keys that a hook has replaced.
func (b *batch) takeBack(stmt *gorm.Statement) {
	k := b.key
	got := b.list
	if got == nil {
		got = &list{ids: b.id[:], rows: b.row[:]}
	}
	texts := make(map[uintptr]string, len(got.rows))
	for i, row := range got.rows {
		if v, err := k.value(got.ids[i]); err == nil {
			texts[row] = utils.ToStringKey(v)
		}
	}
	if rows, ok := mapsOf(stmt.Dest); ok {
		for _, row := range rows {
			text, ok := texts[reflect.ValueOf(row).Pointer()]
			if name, v, _ := k.inMap(row); ok && v != nil && text == utils.ToStringKey(v) {
				delete(row, name)
			}
		}
		return
	}
	rows := stmt.ReflectValue
	for i := range length(rows) {
		row := rowAt(rows, i)
		if !row.CanAddr() { // such as a nil pointer
			continue
		}
		if text, ok := texts[row.UnsafeAddr()]; ok && text == k.text(stmt, row) {
			k.field.ReflectValueOf(stmt.Context, row).SetZero()
		}
	}
}

// text returns the row's key as text.
func (k *key) text(stmt *gorm.Statement, row reflect.Value) string {
	return identity(stmt, row, []*schema.Field{k.field})
}
