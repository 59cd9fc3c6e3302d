package gormplugin

import (
	"reflect"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
	"gorm.io/gorm/utils"
)

const (
	onConflict = "ON CONFLICT"
	returning  = "RETURNING"
)

// conflictOf returns the statement's ON CONFLICT clause, and whether it has one.
func conflictOf(stmt *gorm.Statement) (conflict clause.OnConflict, ok bool) {
	conflict, ok = stmt.Clauses[onConflict].Expression.(clause.OnConflict)
	return conflict, ok
}

// ignores reports whether the statement is an INSERT IGNORE, or OR IGNORE.
func ignores(stmt *gorm.Statement) bool {
	insert, _ := stmt.Clauses["INSERT"].Expression.(clause.Insert)
	return strings.Contains(strings.ToUpper(insert.Modifier), "IGNORE")
}

// updatesOther reports whether ON CONFLICT may update a row whose key is not the value's.
func updatesOther(stmt *gorm.Statement, conflict clause.OnConflict) bool {
	if conflict.DoNothing || !conflict.UpdateAll && len(conflict.DoUpdates) == 0 {
		return false
	}
	byKey := conflict.UpdateAll && len(conflict.Columns) == 0 && conflict.OnConstraint == "" ||
		len(conflict.Columns) > 0 && !slices.ContainsFunc(conflict.Columns, func(c clause.Column) bool {
			f := stmt.Schema.LookUpField(c.Name)
			return f == nil || !f.PrimaryKey
		})
	// MySQL and MariaDB ignore the columns: a conflict on any unique key updates.
	return !byKey || stmt.Name() == "mysql"
}

// askBack adds RETURNING to an INSERT with ON CONFLICT if the database supports it and has
// something to return: the key of an existing row, which GORM requests only if the database
// makes it, or other values that the database makes. rows are the structs, if any. askBack
// reports whether it added the clause.
func (b *batch) askBack(rows reflect.Value) bool {
	stmt := b.stmt
	conflict, ok := conflictOf(stmt)
	ignore := ignores(stmt)
	if !ok && !ignore || !slices.Contains(stmt.BuildClauses, returning) {
		return false
	}
	if _, own := stmt.Clauses[returning]; own {
		return false
	}
	other := b.key.field.Readable && updatesOther(stmt, conflict)
	if !other && len(stmt.Schema.FieldsWithDefaultDBValue) == 0 {
		return false
	}
	r := returnedRows{rows: rows}
	if len(conflict.Where.Exprs) > 0 {
		r.unique = readable(stmt.Schema, conflict.Columns)
	}
	for _, f := range slices.Concat(stmt.Schema.PrimaryFields, stmt.Schema.FieldsWithDefaultDBValue) {
		if f.Readable && !slices.Contains(r.fields, f) {
			r.fields = append(r.fields, f)
			r.Columns = append(r.Columns, clause.Column{Name: f.DBName})
		}
	}
	if len(r.fields) == 0 {
		return false
	}
	for _, f := range r.unique {
		if !slices.Contains(r.fields, f) {
			r.Columns = append(r.Columns, clause.Column{Name: f.DBName})
		}
	}
	// With UpdateAll, GORM may find nothing to update and use DO NOTHING.
	leavesOut := conflict.DoNothing || conflict.UpdateAll || len(conflict.Where.Exprs) > 0
	switch {
	case (ignore || leavesOut && stmt.Name() != "mysql") && (rows.Kind() == reflect.Slice || rows.Kind() == reflect.Array):
		list := reflect.SliceOf(reflect.PointerTo(stmt.Schema.ModelType))
		r.list = reflect.New(list).Elem()
		r.list.Set(reflect.MakeSlice(list, 0, r.rows.Len()))
		stmt.Clauses[returning] = clause.Clause{Name: returning, Expression: r}
		b.after = r.settle
	case other:
		stmt.AddClause(r.Returning)
	default:
		return false // GORM's own clause is sufficient
	}
	return true
}

// returnedRows is a RETURNING clause for rows if ON CONFLICT may leave some out. GORM would
// assign the returned rows to the first values or, with DO NOTHING, to the first values without
// a key. With this clause, it scans them into a list.
type returnedRows struct {
	clause.Returning
	fields []*schema.Field // the fields that the values get
	unique []*schema.Field // the fields by which the statement finds rows, to match a returned row to its value
	rows   reflect.Value   // the statement's rows
	list   reflect.Value
}

// Build runs after GORM has read the values and before it scans.
func (r returnedRows) Build(builder clause.Builder) {
	r.Returning.Build(builder)
	builder.(*gorm.Statement).ReflectValue = r.list
}

// readable returns the fields of the columns, or nil if one is not a field that GORM reads.
func readable(s *schema.Schema, columns []clause.Column) []*schema.Field {
	fields := make([]*schema.Field, len(columns))
	for i, c := range columns {
		f := s.LookUpField(c.Name)
		if f == nil || !f.Readable {
			return nil
		}
		fields[i] = f
	}
	return fields
}

// settle copies the returned rows to the values. If the database returned fewer rows than
// values, a row belongs to the value with the same key, or else to the value that found it.
func (r returnedRows) settle(db *gorm.DB) {
	stmt := db.Statement
	delete(stmt.Clauses, returning)
	stmt.ReflectValue = r.rows
	if db.Error != nil {
		return
	}
	set := func(row, from reflect.Value) {
		for _, f := range r.fields {
			f.ReflectValueOf(stmt.Context, row).Set(f.ReflectValueOf(stmt.Context, from))
		}
	}
	if r.list.Len() == r.rows.Len() {
		for i := range r.list.Len() {
			set(r.rows.Index(i), r.list.Index(i))
		}
		return
	}
	keys := stmt.Schema.PrimaryFields
	byKey, byUnique := map[string]reflect.Value{}, map[string]reflect.Value{}
	for i := range r.list.Len() {
		from := r.list.Index(i)
		byKey[identity(stmt, from, keys)] = from
		if len(r.unique) > 0 {
			byUnique[identity(stmt, from, r.unique)] = from
		}
	}
	for i := range r.rows.Len() {
		row := r.rows.Index(i)
		from, ok := byKey[identity(stmt, row, keys)]
		if !ok && len(r.unique) > 0 {
			from, ok = byUnique[identity(stmt, row, r.unique)]
		}
		if ok {
			set(row, from)
		}
	}
}

// identity returns the row's key as schema.GetIdentityFieldValuesMap does.
func identity(stmt *gorm.Statement, row reflect.Value, fields []*schema.Field) string {
	values := make([]any, len(fields))
	for i, f := range fields {
		values[i], _ = f.ValueOf(stmt.Context, row)
	}
	return utils.ToStringKey(values...)
}
