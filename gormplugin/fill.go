package gormplugin

import (
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"
)

// fill is the callback: it gives ids to the rows of one INSERT whose key is zero.
func (p *Plugin) fill(db *gorm.DB) {
	stmt := db.Statement
	if db.Error != nil || stmt.Schema == nil || skipped(stmt) || p.excluded(stmt) {
		return
	}
	k := p.keyOf(stmt.Schema)
	if k == nil || !k.insertedBy(stmt) {
		return
	}
	var err error
	if rows, ok := mapsOf(stmt.Dest); ok {
		err = p.fillMaps(db, k, rows)
	} else {
		err = p.fillStructs(db, k)
	}
	if err != nil {
		_ = db.AddError(err)
	}
}

// insertedBy tells whether the INSERT is to hold the key. Select that does not name
// it does not drop it, or the row would be stored under another key than the value's;
// Omit does.
func (k *key) insertedBy(stmt *gorm.Statement) bool {
	if !k.field.Creatable {
		return false
	}
	if len(stmt.Selects) == 0 && len(stmt.Omits) == 0 {
		return true
	}
	columns, restricted := stmt.SelectAndOmitColumns(true, false)
	if inserted, named := columns[k.field.DBName]; named {
		return inserted
	}
	if restricted {
		// Clipped, since sessions share the array behind Selects.
		stmt.Selects = append(slices.Clip(stmt.Selects), k.field.DBName)
	}
	return true
}

func (p *Plugin) fillStructs(db *gorm.DB, k *key) error {
	stmt := db.Statement
	rows := stmt.ReflectValue
	if !holdsModels(rows, stmt.Schema.ModelType) {
		return nil
	}
	n := 1
	if rows.Kind() != reflect.Struct {
		n = rows.Len()
	}
	b := p.batches.Get().(*batch)
	defer p.release(b)
	for i := range n {
		row := rowAt(rows, i)
		if !row.IsValid() {
			continue
		}
		slot, zero := k.find(stmt.Context, row)
		if !zero {
			continue
		}
		if !row.CanAddr() {
			return fmt.Errorf("%w: a %s by value cannot take its id: pass a pointer", gorm.ErrInvalidValue, rows.Type())
		}
		b.slots = append(b.slots, slot)
	}
	if err := p.reserve(db, k, b, len(b.slots)); err != nil {
		return err
	}
	for i, slot := range b.slots {
		if err := k.set(stmt.Context, slot, b.ids[i]); err != nil {
			return err
		}
	}
	return nil
}

// holdsModels tells whether rows is of the model's type or a list of them; GORM
// itself fails on anything else.
func holdsModels(rows reflect.Value, model reflect.Type) bool {
	t := rows.Type()
	switch t.Kind() {
	case reflect.Struct:
		return t == model
	case reflect.Slice, reflect.Array:
		t = t.Elem()
		return t == model || t.Kind() == reflect.Pointer && t.Elem() == model
	}
	return false
}

// rowAt returns the i-th struct, which is invalid where the pointer is nil.
func rowAt(rows reflect.Value, i int) reflect.Value {
	if rows.Kind() == reflect.Struct {
		return rows
	}
	row := rows.Index(i)
	if row.Kind() == reflect.Pointer {
		return row.Elem()
	}
	return row
}
