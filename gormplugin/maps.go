package gormplugin

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"gorm.io/gorm"
)

// mapsOf returns the rows of a value that GORM inserts as maps. ok is false for other values.
func mapsOf(dest any) ([]map[string]any, bool) {
	switch d := dest.(type) {
	case map[string]any:
		return []map[string]any{d}, true
	case *map[string]any:
		return []map[string]any{*d}, true
	case []map[string]any:
		return d, true
	case *[]map[string]any:
		return *d, true
	}
	return nil, false
}

func (p *plugin) fillMaps(db *gorm.DB, k *key, rows []map[string]any) error {
	names, empty := make([]string, len(rows)), []int(nil)
	for i, row := range rows {
		if row == nil {
			return fmt.Errorf("%w: row %d is a nil map, which cannot hold an id; make the map", gorm.ErrInvalidData, i)
		}
		name, v, err := k.inMap(row)
		if err != nil {
			return err
		}
		if names[i] = name; v == nil {
			empty = append(empty, i)
		}
	}
	b, err := p.reserve(db, k, len(empty), false)
	if err != nil {
		return err
	}
	for n, i := range empty {
		v, err := k.value(b.ids[n])
		if err != nil {
			return err
		}
		rows[i][names[i]] = v
		b.rows = append(b.rows, reflect.ValueOf(rows[i]).Pointer())
	}
	b.protect(rows, names)
	return nil
}

// inMap returns the key of a map and the name that the map uses for it. The value is nil
// if the key is missing or zero.
func (k *key) inMap(row map[string]any) (name string, value any, err error) {
	for name, v := range row {
		if k.field.Schema.LookUpField(name) == k.field {
			zero, err := k.zero(v)
			if zero {
				v = nil
			}
			return name, v, err
		}
	}
	return k.field.DBName, nil, nil
}

// protect keeps the caller's maps from GORM, which changes them if the database returns columns
// of the model:
//
//   - With RETURNING, GORM cannot scan into a []map. It appends the returned rows to a
//     *[]map, where they may overwrite the next batch.
//   - Without RETURNING, GORM renumbers several maps, counting from the last insert id.
//   - A single map gets the right values, but its key is under the column's name.
//
// So GORM gets copies of several maps, and the caller's maps get the returned rows. With the
// caller's own RETURNING, they keep GORM's results. names are the names of the maps' keys.
func (b *batch) protect(rows []map[string]any, names []string) {
	stmt, column := b.stmt, b.key.field.DBName
	_, own := stmt.Clauses[returning]
	asked := b.askBack(reflect.Value{})
	if len(stmt.Schema.FieldsWithDefaultDBValue) == 0 && !asked {
		return
	}
	switch dest := stmt.Dest.(type) {
	case []map[string]any, *[]map[string]any:
		if own && slices.Contains(stmt.BuildClauses, returning) {
			return
		}
		list := make([]map[string]any, len(rows))
		for i, row := range rows {
			list[i] = maps.Clone(row)
		}
		stmt.Dest = &list
		b.after = func(*gorm.DB) {
			stmt.Dest = dest
			copyBack(rows, names, list, column)
		}
	default:
		if !asked || names[0] == column {
			return
		}
		b.after = func(*gorm.DB) {
			if v, ok := rows[0][column]; ok {
				rows[0][names[0]] = v
				delete(rows[0], column)
			}
		}
	}
}

// copyBack copies what GORM has made of copies of rows, followed by the rows that it got from the
// database, to rows.
func copyBack(rows []map[string]any, names []string, made []map[string]any, column string) {
	returned := made[len(rows):]
	for i, row := range rows {
		if len(returned) == len(rows) { // otherwise, ON CONFLICT left rows out, or the database returns none
			maps.Copy(row, returned[i])
			if v, ok := returned[i][column]; ok {
				row[names[i]] = v
			}
		} else if _, ok := made[i][column]; ok {
			row[column] = row[names[i]]
		}
	}
}
