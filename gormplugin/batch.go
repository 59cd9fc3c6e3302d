package gormplugin

import (
	"errors"
	"reflect"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
	"gorm.io/gorm/utils"
)

const (
	// batchKey is the statement's clause that holds its batch. GORM does not build it. The
	// settings would hold it too, but allocate for each statement.
	batchKey = "idworker:batch"

	// maxKept is the size in ids above which a batch is not kept for later statements.
	maxKept = 1 << 14
)

// A batch holds the ids of one statement until its end and is then reused.
type batch struct {
	stmt *gorm.Statement // whose it is: a copy of the statement refers to it too
	key  *key
	ids  []int64
}

// Build implements clause.Expression. GORM does not call it.
func (*batch) Build(clause.Builder) {}

// settleBatch runs after the INSERT. If it stored nothing for certain, the values lose the
// ids that the plugin gave them: to GORM a value with a key is a row that exists, which
// Save updates and First looks for. Otherwise the outcome may be unknown, and the values
// keep their ids so that another attempt cannot store them twice.
func (p *Plugin) settleBatch(db *gorm.DB) {
	stmt := db.Statement
	b, ok := stmt.Clauses[batchKey].Expression.(*batch)
	if !ok || b.stmt != stmt {
		return
	}
	delete(stmt.Clauses, batchKey)
	if db.Error != nil && (stmt.SQL.Len() == 0 || refused(db)) {
		b.takeBack(stmt)
	}
	if b.stmt, b.key = nil, nil; cap(b.ids) <= maxKept {
		p.batches.Put(b)
	}
}

// refused reports whether the statement's error says that the INSERT stored nothing.
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

// takeBack makes the keys zero that still have an id of b. A hook may have replaced some.
func (b *batch) takeBack(stmt *gorm.Statement) {
	k := b.key
	texts := k.texts(b.ids)
	if rows, ok := mapsOf(stmt.Dest); ok {
		for _, row := range rows {
			if m := k.inMap(row); m.value != nil && texts[utils.ToStringKey(m.value)] {
				delete(row, m.name)
			}
		}
		return
	}
	rows := stmt.ReflectValue
	for i := range length(rows) {
		row := rowAt(rows, i)
		if !row.IsValid() || !texts[k.text(stmt, row)] {
			continue
		}
		slot, _ := k.find(stmt.Context, row)
		if k.index == nil {
			slot = k.field.ReflectValueOf(stmt.Context, row)
		}
		slot.SetZero()
	}
}

// texts returns the values that keys have for the ids, as text.
func (k *key) texts(ids []int64) map[string]bool {
	texts := make(map[string]bool, len(ids))
	for _, id := range ids {
		if v, err := k.value(id); err == nil { // otherwise no key has it
			texts[utils.ToStringKey(v)] = true
		}
	}
	return texts
}

// text returns the row's key as text.
func (k *key) text(stmt *gorm.Statement, row reflect.Value) string {
	return identity(stmt, row, []*schema.Field{k.field})
}
