package gormplugin

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"
)

// fill is the GORM callback that sets the zero keys of one INSERT.
func (f *filler) fill(db *gorm.DB) {
	stmt := db.Statement
	if db.Error != nil || stmt.Schema == nil || skipped(stmt) || f.excluded(stmt) {
		return
	}
	k := f.keyOf(stmt)
	if k == nil || !k.insertedBy(stmt) {
		return
	}
	var err error
	if rows, ok := mapsOf(stmt.Dest); ok {
		err = f.fillMaps(db, k, rows)
	} else {
		err = f.fillStructs(db, k)
	}
	if err != nil {
		_ = db.AddError(err)
	}
}

// insertedBy reports whether the INSERT includes the key. Omit drops the key. A Select without
// the key gets it added: otherwise the stored key would differ from the value's.
func (k *key) insertedBy(stmt *gorm.Statement) bool {
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

func (p *plugin) fillStructs(db *gorm.DB, k *key) error {
	stmt := db.Statement
	rows, plain := stmt.ReflectValue, len(stmt.Clauses) == 0 // no ON CONFLICT, no IGNORE
	if ok, err := k.heldBy(rows.Type()); !ok {
		return err
	}
	if plain && k.plain && length(rows) == 1 {
		return p.fillOne(db, k, rowAt(rows, 0))
	}
	empty, err := k.visit(stmt.Context, rows, nil)
	if err != nil {
		return err
	}
	switch {
	case empty > 0 && !addressable(rows):
		return byValue(rows)
	case empty == 0 && plain:
		return nil
	}
	b, err := p.reserve(db, k, empty, false)
	if err != nil {
		return err
	}
	if empty > 0 {
		filled, err := k.visit(stmt.Context, rows, b)
		if err != nil {
			return err
		}
		if filled < empty && rows.Type().Elem().Kind() == reflect.Pointer {
			if err := k.separate(stmt, b); err != nil {
				return err
			}
			rows = stmt.ReflectValue
		}
	}
	if !plain && !b.askBack(rows) {
		b.watch(rows)
	}
	return nil
}

// fillOne is fillStructs for the most frequent statement, an INSERT of one struct.
func (p *plugin) fillOne(db *gorm.DB, k *key, row reflect.Value) error {
	if !row.IsValid() {
		return nil
	}
	slot := k.slot(row)
	if !slot.IsZero() {
		return nil
	}
	if !row.CanAddr() {
		return byValue(db.Statement.ReflectValue)
	}
	b, err := p.reserve(db, k, 1, true)
	if err != nil {
		return err
	}
	b.row[0] = row.UnsafeAddr()
	return k.set(db.Statement.Context, slot, b.id[0])
}

func byValue(rows reflect.Value) error {
	return fmt.Errorf("%w: the key of a %s passed by value cannot be set; pass a pointer", gorm.ErrInvalidValue, rows.Type())
}

// separate handles pointers that are listed twice, which took one id. An INSERT with ON
// CONFLICT stores such a value once. Otherwise GORM stores it each time it is listed, so
// separate replaces the repeated pointer with a copy that has its own id, unless the value
// already had a key.
func (k *key) separate(stmt *gorm.Statement, b *batch) error {
	rows := stmt.ReflectValue
	if slices.Min(k.field.StructField.Index) < 0 {
		return nil // a copy would share the embedded pointer that has the key
	}
	_, conflict := conflictOf(stmt)
	seen := map[uintptr]int{} // their indexes in list
	list, changed := reflect.New(reflect.SliceOf(rows.Type().Elem())).Elem(), false
	for i := range rows.Len() {
		row := rows.Index(i)
		place, again := seen[row.Pointer()]
		if again && slices.Contains(b.rows, row.Pointer()) {
			changed = true
			if conflict {
				continue
			}
			// The last row is the value itself, and its children refer to that row: GORM sets
			// their foreign keys in turn.
			copied := reflect.New(row.Type().Elem())
			copied.Elem().Set(row.Elem())
			if err := k.set(stmt.Context, k.slot(copied.Elem()), b.ids[len(b.rows)]); err != nil {
				return err
			}
			b.rows = append(b.rows, copied.Pointer())
			list.Index(place).Set(copied)
		}
		seen[row.Pointer()] = list.Len()
		list.Set(reflect.Append(list, row))
	}
	if changed {
		stmt.ReflectValue = list
	}
	return nil
}

// visit counts the rows with a zero key and, if b is not nil, sets these keys in turn. A pointer
// that is listed twice takes one id. For plain keys, it counts all rows from the first zero key
// on, because most of them are zero too. Surplus ids are discarded.
func (k *key) visit(ctx context.Context, rows reflect.Value, b *batch) (empty int, err error) {
	for i := range length(rows) {
		row := rowAt(rows, i)
		if !row.IsValid() {
			continue
		}
		slot := k.slot(row)
		zero, err := k.empty(ctx, slot)
		if err != nil {
			return empty, err
		}
		if !zero {
			continue
		}
		if b == nil && k.plain {
			return length(rows) - i, nil
		}
		if empty++; b == nil || len(b.ids) < empty {
			continue
		}
		if err := k.set(ctx, slot, b.ids[empty-1]); err != nil {
			return empty, err
		}
		b.rows = append(b.rows, row.UnsafeAddr())
	}
	return empty, nil
}

// heldBy reports whether t is a struct with the key, or a list of them: the model or, as GORM
// allows, another type that begins with the fields of the model. In other structs, GORM would
// read wrong fields, so heldBy returns an error. GORM itself fails on everything else.
func (k *key) heldBy(t reflect.Type) (bool, error) {
	if t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		if t = t.Elem(); t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	model := k.field.Schema.ModelType
	if t.Kind() != reflect.Struct || t == model {
		return t == model, nil
	}
	for i := range model.NumField() {
		if f := model.Field(i); i >= t.NumField() || t.Field(i).Name != f.Name || t.Field(i).Type != f.Type {
			return false, fmt.Errorf("%w: the value is a %s, whose field %d is not the %s %s of the model %s", gorm.ErrInvalidValue, t, i, f.Name, f.Type, model)
		}
	}
	return true, nil
}

func length(rows reflect.Value) int {
	if rows.Kind() == reflect.Struct {
		return 1
	}
	return rows.Len()
}

// addressable reports whether rows can be set. They must not be empty.
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
