package gormplugin

import (
	"context"
	"errors"
	"reflect"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"
	"gorm.io/gorm/utils"
)

// A batch holds the ids of one statement. It is the context of that statement, because GORM
// copies clauses and settings when it begins a transaction, but not the context. Contexts of
// other statements may be derived from it.
type batch struct {
	context.Context //nolint:containedctx // a batch is a context
	stmt            *gorm.Statement
	key             *key
	ids             []int64
	rows            []uintptr // the structs or maps that got ids, in the order of ids
	id              [1]int64  // used for a single row
	row             [1]uintptr
	waiting         waiting
}

type batchKey struct{}

func (b *batch) Value(k any) any {
	if k == (batchKey{}) {
		return b
	}
	return b.Context.Value(k)
}

// settleBatch runs after the INSERT. If the INSERT was refused or not sent, it clears the ids
// that the plugin gave the values: GORM takes a value with a key for an existing row, which
// Save updates and First queries. Otherwise the outcome may be unknown, and the values keep
// their ids so that another attempt cannot store them twice.
func (p *plugin) settleBatch(db *gorm.DB) {
	stmt := db.Statement
	b, ok := stmt.Context.Value(batchKey{}).(*batch)
	if !ok || b.stmt != stmt {
		return
	}
	if stmt.Context == b { // not the batch of an outer statement
		stmt.Context = b.Context
	}
	if db.Error != nil && (stmt.SQL.Len() == 0 || refused(db)) {
		b.takeBack(stmt)
	}
	b.ids, b.rows = nil, nil
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
	texts := make(map[uintptr]string, len(b.rows))
	for i, row := range b.rows {
		if v, err := k.value(b.ids[i]); err == nil {
			texts[row] = utils.ToStringKey(v)
		}
	}
	if rows, ok := mapsOf(stmt.Dest); ok {
		for _, row := range rows {
			text, ok := texts[reflect.ValueOf(row).Pointer()]
			if m, _ := k.inMap(row); ok && m.value != nil && text == utils.ToStringKey(m.value) {
				delete(row, m.name)
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
		if text, ok := texts[row.UnsafeAddr()]; !ok || text != k.text(stmt, row) {
			continue
		}
		slot := k.slot(row)
		if k.index == nil {
			slot = k.field.ReflectValueOf(stmt.Context, row)
		}
		slot.SetZero()
	}
}

// text returns the row's key as text.
func (k *key) text(stmt *gorm.Statement, row reflect.Value) string {
	return identity(stmt, row, []*schema.Field{k.field})
}
