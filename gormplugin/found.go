package gormplugin

import (
	"database/sql"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// watch prepares a statement to report rows that MySQL finds by another unique key. MySQL has no
// RETURNING, and returns the key of such a row only with LAST_INSERT_ID. watch does so for a
// single row, and for several if other rows refer to their keys. It leaves other statements
// alone, because finding the keys of many rows takes more statements.
func (b *batch) watch(rows reflect.Value) {
	stmt, k := b.stmt, b.key
	conflict, ok := conflictOf(stmt)
	if !ok || stmt.Name() != "mysql" || stmt.DryRun || length(rows) == 0 || !rowAt(rows, 0).CanAddr() {
		return
	}
	_, back := stmt.Clauses[returning]
	if back || slices.Contains(stmt.BuildClauses, returning) && len(stmt.Schema.FieldsWithDefaultDBValue) > 0 {
		return
	}
	if (length(rows) > 1 || !k.integer) && !referred(stmt, conflict, rows) {
		return
	}
	sets := slices.ContainsFunc(conflict.DoUpdates, func(a clause.Assignment) bool { return stmt.Schema.LookUpField(a.Column.Name) == k.field })
	if sets { // the row gets the value's key
		return
	}
	asking, own := conflict, stmt.Result == nil
	if k.integer {
		// The column keeps its value. MySQL calls LAST_INSERT_ID only for a row with another key.
		id := clause.Column{Name: k.field.DBName}
		same := clause.Expr{SQL: "IF(? = VALUES(?) OR LAST_INSERT_ID(?) = ?, ?, ?)", Vars: []any{id, id, id, id, id, id}}
		asking.DoUpdates = append(slices.Clip(conflict.DoUpdates), clause.Assignment{Column: id, Value: same})
		stmt.AddClause(asking)
	}
	if own {
		stmt.Result = gorm.WithResult()
	}
	b.after = func(db *gorm.DB) {
		result := stmt.Result
		if stmt.AddClause(conflict); own {
			stmt.Result = nil
		}
		if db.Error == nil && result.Result != nil {
			_ = db.AddError(k.settleFound(db, rows, result.Result))
		}
	}
}

// referred reports whether other rows will refer to the keys of rows: rows that the statement
// saves next, or the parents if rows are associations.
func referred(stmt *gorm.Statement, conflict clause.OnConflict, rows reflect.Value) bool {
	if _, association := stmt.Settings.Load("gorm:saved_association_map"); association && (conflict.DoNothing || conflict.UpdateAll) {
		return true
	}
	r := &stmt.Schema.Relationships
	for _, rel := range slices.Concat(r.HasOne, r.HasMany, r.Many2Many) {
		for i := range length(rows) {
			if row := rowAt(rows, i); row.IsValid() {
				if _, zero := rel.Field.ValueOf(stmt.Context, row); !zero {
					return true
				}
			}
		}
	}
	return false
}

// settleFound sets the values' keys to the keys of the rows that MySQL found.
func (k *key) settleFound(db *gorm.DB, rows reflect.Value, result sql.Result) error {
	stmt := db.Statement
	var last int64
	if k.integer {
		last, _ = result.LastInsertId()
		// If MySQL did not call LAST_INSERT_ID, last is 0 or, in an AUTO_INCREMENT column, the
		// key of the last row.
		if end := rowAt(rows, length(rows)-1); last == 0 || k.text(stmt, end) == strconv.FormatInt(last, 10) {
			return nil
		}
	}
	one := length(rows) == 1 && k.integer
	// After inserting one row, last may be the value of another column.
	var stored map[string]bool
	if !one || db.RowsAffected == 1 {
		var err error
		if stored, err = k.stored(db, rows); err != nil {
			return err
		}
	}
	for i := range length(rows) {
		row := rowAt(rows, i)
		if stored[k.text(stmt, row)] {
			continue
		}
		if one {
			return k.set(stmt.Context, row, last)
		}
		if !k.integer {
			return fmt.Errorf("%w: row %d of %s was found by another unique key, and MySQL does not return its %s for the rows that refer to it: query the row first",
				gorm.ErrPrimaryKeyRequired, i, stmt.Schema, k.field.Name)
		}
		// The database has nothing to do except finding the row again.
		if err := sameTable(db).Clauses(clause.OnConflict{DoNothing: true}).Create(row.Addr().Interface()).Error; err != nil {
			return err
		}
	}
	return nil
}

// stored returns the keys of rows that the table has.
func (k *key) stored(db *gorm.DB, rows reflect.Value) (map[string]bool, error) {
	stmt := db.Statement
	keys := make([]any, length(rows))
	for i := range keys {
		keys[i], _ = k.field.ValueOf(stmt.Context, rowAt(rows, i))
	}
	list := reflect.New(reflect.SliceOf(stmt.Schema.ModelType))
	column := clause.Column{Table: clause.CurrentTable, Name: k.field.DBName}
	tx := sameTable(db).Unscoped()
	tx.Statement.Selects = []string{k.field.DBName}
	if err := tx.Where(clause.IN{Column: column, Values: keys}).Find(list.Interface()).Error; err != nil {
		return nil, err
	}
	stored := map[string]bool{}
	for i := range list.Elem().Len() {
		stored[k.text(stmt, list.Elem().Index(i))] = true
	}
	return stored, nil
}

// sameTable returns a session for the same columns of the same table, on the connections of the
// INSERT.
func sameTable(db *gorm.DB) *gorm.DB {
	stmt := db.Statement
	tx := db.Session(&gorm.Session{NewDB: true, SkipHooks: true}).Omit(slices.Concat(stmt.Omits, []string{clause.Associations})...)
	tx.Statement.Selects = slices.Clone(stmt.Selects)
	tx.Statement.Table, tx.Statement.TableExpr = stmt.Table, stmt.TableExpr
	if _, ok := stmt.ConnPool.(gorm.TxCommitter); !ok {
		tx.Statement.ConnPool = pinned{ConnPool: stmt.ConnPool}
	}
	return tx
}

// pinned looks like a transaction, so that dbresolver sends its statements neither to a replica
// nor to another source. Nothing calls the methods of TxCommitter.
type pinned struct {
	gorm.ConnPool
	gorm.TxCommitter
}
