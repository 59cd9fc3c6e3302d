package gormplugin

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"gorm.io/gorm"
)

const mapsKey = "maps"

// ownKey returns the key in Settings for the state of one statement. InstanceSet would clone the
// statement if it is a session, such as one that a scope returns.
func ownKey(stmt *gorm.Statement, what string) string {
	return fmt.Sprintf("%p idworker:%s", stmt, what)
}

// A mapKey is a map's primary key, and the name that the map uses for it.
type mapKey struct {
	name  string
	value any
}

// filledMaps is the state that rememberMaps keeps for settleMaps.
type filledMaps struct {
	column string
	rows   []map[string]any
	keys   []mapKey
	dest   any               // the value that the caller passed
	list   *[]map[string]any // the value that GORM gets instead, and appends returned rows to
}

// mapsOf returns the rows of a value that GORM inserts as maps. ok is false for other values.
func mapsOf(dest any) ([]map[string]any, bool) {
	switch d := dest.(type) {
	case map[string]any:
		return []map[string]any{d}, true
	case *map[string]any:
		if d == nil {
			return nil, false // GORM reports it
		}
		return []map[string]any{*d}, true
	case []map[string]any:
		return d, true
	case *[]map[string]any:
		if d == nil {
			return nil, false
		}
		return *d, true
	}
	return nil, false
}

func (p *plugin) fillMaps(db *gorm.DB, k *key, rows []map[string]any) error {
	keys, empty := make([]mapKey, len(rows)), 0
	var b *batch
	var err error
	for i, row := range rows {
		if row == nil {
			return fmt.Errorf("%w: row %d is a nil map, which cannot hold an id; make the map", gorm.ErrInvalidData, i)
		}
		if keys[i], err = k.inMap(row); err != nil {
			return err
		}
		if keys[i].value == nil {
			empty++
		}
	}
	if empty > 0 {
		if b, err = p.reserve(db, k, empty, false); err != nil {
			return err
		}
	}
	for i, row := range rows {
		if keys[i].value != nil {
			continue
		}
		v, err := k.value(b.ids[len(b.rows)])
		if err != nil {
			return err
		}
		keys[i].value, row[keys[i].name] = v, v
		b.rows = append(b.rows, reflect.ValueOf(row).Pointer())
	}
	_, own := db.Statement.Clauses["RETURNING"]
	rememberMaps(db, k, rows, keys, own, k.askBack(db.Statement, reflect.Value{}))
	return nil
}

// inMap returns the key of a map and the name that the map uses for it. The value is nil
// if the key is missing or zero.
func (k *key) inMap(row map[string]any) (mapKey, error) {
	for name, v := range row {
		if k.field.Schema.LookUpField(name) == k.field {
			zero, err := k.zero(v)
			if zero {
				v = nil
			}
			return mapKey{name, v}, err
		}
	}
	return mapKey{name: k.field.DBName}, nil
}

// rememberMaps saves maps before the INSERT, because GORM changes them if the database returns
// columns of the model:
//
//   - With RETURNING, GORM cannot scan into a []map. It appends the returned rows to a
//     *[]map, where they may overwrite the next batch.
//   - Without RETURNING, GORM renumbers several maps, counting from the last insert id.
//   - A single map gets the right values, but its key is under the column's name.
//
// own is set if the caller's statement has RETURNING, and asked if the plugin added it.
func rememberMaps(db *gorm.DB, k *key, rows []map[string]any, keys []mapKey, own, asked bool) {
	stmt := db.Statement
	if len(stmt.Schema.FieldsWithDefaultDBValue) == 0 && !asked {
		return
	}
	f := &filledMaps{column: k.field.DBName, rows: rows, keys: keys, dest: stmt.Dest}
	switch stmt.Dest.(type) {
	case []map[string]any, *[]map[string]any:
		// With the caller's own RETURNING, maps keep GORM's results.
		if !own {
			list := slices.Clip(rows)
			f.list, stmt.Dest = &list, &list
		}
	default:
		if !asked || keys[0].name == f.column {
			return
		}
	}
	stmt.Settings.Store(ownKey(stmt, mapsKey), f)
}

// settleMaps runs after the INSERT and gives the caller's maps the stored keys.
func settleMaps(db *gorm.DB) {
	if _, ok := mapsOf(db.Statement.Dest); !ok {
		return
	}
	v, _ := db.Statement.Settings.Load(ownKey(db.Statement, mapsKey))
	f, ok := v.(*filledMaps)
	if !ok {
		return
	}
	db.Statement.Dest = f.dest
	switch f.dest.(type) {
	case map[string]any, *map[string]any:
		if v, ok := f.rows[0][f.column]; ok {
			f.rows[0][f.keys[0].name] = v
			delete(f.rows[0], f.column)
		}
		return
	}
	var returned []map[string]any
	if f.list != nil {
		returned = (*f.list)[len(f.rows):]
	}
	for i, row := range f.rows {
		// Rows correspond to maps only if the database returned every row: it does not return
		// rows that ON CONFLICT left out.
		if len(returned) == len(f.rows) {
			maps.Copy(row, returned[i])
			if v, ok := returned[i][f.column]; ok {
				row[f.keys[i].name] = v
			}
			continue
		}
		row[f.keys[i].name] = f.keys[i].value
		if _, ok := row[f.column]; ok {
			row[f.column] = f.keys[i].value
		}
	}
}
