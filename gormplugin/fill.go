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
	if rows, ok := mapsOf(stmt.Dest); ok {
		_ = db.AddError(f.fillMaps(db, k, rows))
	} else {
		_ = db.AddError(f.fillStructs(db, k))
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
	if empty == 0 && plain {
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
		// A pointer that is listed twice took one id.
		if filled < empty && rows.Type().Elem().Kind() == reflect.Pointer {
			if _, conflict := conflictOf(stmt); !conflict {
				return fmt.Errorf("%w: a %s lists the same pointer more than once, and a row has one key; list it once, or a copy of the row with the key 0", gorm.ErrInvalidValue, rows.Type())
			}
			// GORM lists a new row that others share once for each, and inserts with ON CONFLICT.
			rows = distinct(rows)
			stmt.ReflectValue = rows
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
	if zero, _ := k.empty(db.Statement.Context, row); !zero {
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
	return k.set(db.Statement.Context, row, b.id[0])
}

func byValue(rows reflect.Value) error {
	return fmt.Errorf("%w: the key of a %s passed by value cannot be set; pass a pointer", gorm.ErrInvalidValue, rows.Type())
}

// distinct returns a list of the rows without repeated pointers. The rows are pointers.
func distinct(rows reflect.Value) reflect.Value {
	list, seen := reflect.New(reflect.SliceOf(rows.Type().Elem())).Elem(), map[uintptr]bool{}
	for i := range rows.Len() {
		if row := rows.Index(i); !seen[row.Pointer()] {
			seen[row.Pointer()] = true
			list.Set(reflect.Append(list, row))
		}
	}
	return list
}

// visit counts the rows with a zero key and, if b is not nil, sets these keys in turn.
func (k *key) visit(ctx context.Context, rows reflect.Value, b *batch) (empty int, err error) {
	for i := range length(rows) {
		row := rowAt(rows, i)
		if !row.IsValid() {
			continue
		}
		zero, err := k.empty(ctx, row)
		if err != nil {
			return empty, err
		}
		if !zero {
			continue
		}
		if !row.CanAddr() {
			return empty, byValue(rows)
		}
		if empty++; b == nil {
			continue
		}
		if err := k.set(ctx, row, b.ids[empty-1]); err != nil {
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
