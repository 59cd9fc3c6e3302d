package gormplugin

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"
)

// fill is the callback of GORM. It sets the zero keys of one INSERT.
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

// insertedBy reports whether the INSERT has the key. Omit drops the key. Select does
// not: without the key, the stored key would differ from the value's.
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
	visit := k.visit
	if k.plain && rows.Kind() != reflect.Struct {
		visit = k.visitPlain
	}
	empty, err := visit(stmt.Context, rows, nil)
	if err != nil {
		return err
	}
	if empty > 0 && !addressable(rows) {
		return fmt.Errorf("%w: the key of a %s passed by value cannot be set; pass a pointer", gorm.ErrInvalidValue, rows.Type())
	}
	b := p.batches.Get().(*batch)
	defer p.release(b)
	if err := p.reserve(db, k, b, empty); err != nil {
		return err
	}
	if empty > 0 {
		if _, err := visit(stmt.Context, rows, b.ids); err != nil {
			return err
		}
	}
	if k.askBack(stmt) || k.field.HasDefaultValue {
		k.keep(db, rows)
	}
	return nil
}

// visit counts the rows with a zero key and, if there are ids, sets these keys in turn.
// A pointer that is listed twice takes one id.
func (k *key) visit(ctx context.Context, rows reflect.Value, ids []int64) (empty int, err error) {
	for i := range length(rows) {
		row := rowAt(rows, i)
		if !row.IsValid() {
			continue
		}
		slot, zero := k.find(ctx, row)
		if !zero {
			continue
		}
		if empty++; len(ids) < empty {
			continue
		}
		if err := k.set(ctx, slot, ids[empty-1]); err != nil {
			return empty, err
		}
	}
	return empty, nil
}

// visitPlain is visit for lists of rows with a plain key, and takes a third of the time.
// Without ids it counts all rows after the first zero key too, since most keys are
// zero. Ids that turn out to be too many are discarded.
func (k *key) visitPlain(_ context.Context, rows reflect.Value, ids []int64) (empty int, err error) {
	pointers := rows.Type().Elem().Kind() == reflect.Pointer
	signed := k.kind == kindInt
	for i := range rows.Len() {
		slot := rows.Index(i)
		if pointers {
			if slot = slot.Elem(); !slot.IsValid() {
				continue
			}
		}
		for _, f := range k.index {
			slot = slot.Field(f)
		}
		if signed && slot.Int() != 0 || !signed && slot.Uint() != 0 {
			continue
		}
		if ids == nil {
			return rows.Len() - i, nil
		}
		if empty++; len(ids) < empty {
			continue
		}
		if signed {
			slot.SetInt(ids[empty-1])
		} else {
			slot.SetUint(uint64(ids[empty-1]))
		}
	}
	return empty, nil
}

// holdsModels reports whether rows is a model or a list of models. GORM itself fails on
// anything else.
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

func length(rows reflect.Value) int {
	if rows.Kind() == reflect.Struct {
		return 1
	}
	return rows.Len()
}

// addressable reports whether rows, which must not be empty, can be written to.
func addressable(rows reflect.Value) bool {
	if rows.Kind() == reflect.Struct {
		return rows.CanAddr()
	}
	row := rows.Index(0)
	return row.Kind() == reflect.Pointer || row.CanAddr()
}

// rowAt returns the i-th struct, or an invalid Value for a nil pointer.
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
