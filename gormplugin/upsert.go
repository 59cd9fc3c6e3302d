package gormplugin

import (
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

const rowsKey = "idworker:rows"

// conflictOf returns the statement's ON CONFLICT DO UPDATE clause, and whether it has one.
func conflictOf(stmt *gorm.Statement) (conflict clause.OnConflict, ok bool) {
	c, ok := stmt.Clauses["ON CONFLICT"]
	if ok {
		conflict, ok = c.Expression.(clause.OnConflict)
	}
	return conflict, ok && !conflict.DoNothing && (conflict.UpdateAll || len(conflict.DoUpdates) > 0)
}

// askBack adds RETURNING to an upsert that may update a row with a different key than
// the value's, if the database supports it. GORM adds the clause only for keys that the
// database makes. askBack reports whether it added the clause.
func (k *key) askBack(stmt *gorm.Statement) bool {
	conflict, ok := conflictOf(stmt)
	if !ok || !k.field.Readable || k.field.HasDefaultValue || !slices.Contains(stmt.BuildClauses, "RETURNING") {
		return false
	}
	if _, own := stmt.Clauses["RETURNING"]; own {
		return false
	}
	byKey := conflict.UpdateAll && len(conflict.Columns) == 0 && conflict.OnConstraint == "" ||
		len(conflict.Columns) > 0 && !slices.ContainsFunc(conflict.Columns, func(c clause.Column) bool {
			f := stmt.Schema.LookUpField(c.Name)
			return f == nil || !f.PrimaryKey
		})
	// MySQL and MariaDB ignore the columns: a conflict on any unique key updates.
	if byKey && stmt.Name() != "mysql" {
		return false
	}
	var columns []clause.Column
	seen := map[*schema.Field]bool{}
	for _, f := range slices.Concat(stmt.Schema.PrimaryFields, stmt.Schema.FieldsWithDefaultDBValue) {
		if f.Readable && !seen[f] {
			seen[f] = true
			columns = append(columns, clause.Column{Name: f.DBName})
		}
	}
	stmt.AddClause(clause.Returning{Columns: columns})
	return true
}

// keptRows holds the keys of rows before the INSERT.
type keptRows struct {
	key  *key
	rows reflect.Value
	keys []any
}

// keep remembers the keys of an upsert that may leave rows out. The database then
// returns fewer rows, and GORM assigns these to the first values.
func (k *key) keep(db *gorm.DB, rows reflect.Value) {
	stmt, n := db.Statement, length(rows)
	if conflict, ok := conflictOf(stmt); !ok || n == 1 || len(conflict.Where.Exprs) == 0 {
		return
	}
	kept := &keptRows{k, rows, make([]any, n)}
	for i := range n {
		if row := rowAt(rows, i); row.IsValid() {
			kept.keys[i] = k.field.ReflectValueOf(stmt.Context, row).Interface()
		}
	}
	db.InstanceSet(rowsKey, kept)
}

// settleRows runs after the INSERT. If the database returned fewer rows than were sent,
// it restores the keys that the values had.
func settleRows(db *gorm.DB) {
	if _, ok := conflictOf(db.Statement); !ok {
		return
	}
	v, _ := db.InstanceGet(rowsKey)
	kept, ok := v.(*keptRows)
	if !ok || db.RowsAffected == int64(len(kept.keys)) {
		return
	}
	for i, key := range kept.keys {
		if row := rowAt(kept.rows, i); row.IsValid() {
			kept.key.field.ReflectValueOf(db.Statement.Context, row).Set(reflect.ValueOf(key))
		}
	}
}
