package gormplugin

import (
	"maps"
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// keeps reports whether the number that a row has is its own: with gaps, unless it was taken early
// for another scope, which a hook or a parent has replaced since; without, if it is stored, or the row is
// stored without one, as a child or a parent may be, which GORM saves with ON CONFLICT. Otherwise it may
// be one of a transaction that was rolled back, which another row has by now.
func (n *numbered) keeps(db *gorm.DB, r numberedRow, before map[uintptr]numberedRow) (bool, error) {
	stmt, row := db.Statement, r.row.Addr().Pointer()
	_, zero := n.field.ValueOf(stmt.Context, r.row)
	if !n.series.Gapless() {
		early, taken := before[row]
		return !zero && (!taken || early.scope == r.scope), nil
	}
	if !mayMeet(stmt) || n.newKey(stmt, r.row) {
		return false, nil
	}
	if there, err := n.stored(db, []numberedRow{r}, n.scope); err != nil || there == 0 {
		return false, err
	}
	there, err := n.stored(db, []numberedRow{r}, n.scope, n.field)
	if err == nil && there == 0 { // it would not be inserted, and its number be a gap
		err = n.fault("a row with the key %v is stored with another number: load it first", keyValues(stmt, r.row))
	}
	return there > 0, err
}

// newKey reports whether no row is stored with the key, which is none yet, or made for this statement.
func (n *numbered) newKey(stmt *gorm.Statement, row reflect.Value) bool {
	if !slices.ContainsFunc(stmt.Schema.PrimaryFields, func(f *schema.Field) bool {
		_, zero := f.ValueOf(stmt.Context, row)
		return !zero
	}) {
		return true
	}
	b, ok := stmt.Clauses[batchKey].Expression.(*batch)
	return ok && b.stmt == stmt && slices.Contains(b.rows, row.Addr().Pointer())
}

// mayMeet reports whether the statement may come upon rows that are stored, without an error.
func mayMeet(stmt *gorm.Statement) bool {
	_, conflict := conflictOf(stmt)
	return conflict || ignores(stmt)
}

// stored counts the rows that are in the table with their keys, and with the values of these fields.
func (n *numbered) stored(db *gorm.DB, rows []numberedRow, also ...*schema.Field) (there int64, err error) {
	ctx := db.Statement.Context
	for chunk := range slices.Chunk(rows, 100) {
		var each []clause.Expression
		for _, r := range chunk {
			var all []clause.Expression
			for i, f := range slices.Concat(n.field.Schema.PrimaryFields, also) {
				if f != nil {
					value, zero := f.ValueOf(ctx, r.row)
					if i < len(r.key) && !isZero(r.key[i]) { // which RETURNING may have replaced by that of a row that was there
						value = r.key[i]
					}
					is := clause.Expression(clause.Eq{Column: clause.Column{Name: f.DBName}, Value: value})
					if zero && f == n.field { // stored without a number
						is = clause.Or(is, clause.Eq{Column: clause.Column{Name: f.DBName}})
					}
					all = append(all, is)
				}
			}
			each = append(each, clause.And(all...))
		}
		var count int64
		tx := db.Session(&gorm.Session{NewDB: true}).Where(clause.Or(each...))
		tx.Statement.Table, tx.Statement.TableExpr = db.Statement.Table, db.Statement.TableExpr
		if err := tx.Count(&count).Error; err != nil {
			return 0, err
		}
		there += count
	}
	return there, nil
}

// settleNumbered fails a statement that stored a row for another scope than it was numbered for, as after
// a callback that ran between, or that did not insert each row with its gapless number, as ON CONFLICT
// may do. The transaction then takes the number back.
func (f *filler) settleNumbered(db *gorm.DB) {
	stmt := db.Statement
	if stmt.Schema == nil || stmt.DryRun || skipped(stmt) || f.excluded(stmt) {
		return
	}
	fields := f.numberedOf(stmt)
	for _, n := range fields {
		if db.Error == nil {
			_ = db.AddError(n.settle(db, slices.Collect(maps.Values(n.numbered(stmt))))) // which ignores nil
		}
	}
	for _, n := range fields {
		for _, r := range n.numbered(stmt) {
			if db.Error != nil && n.series.Gapless() { // the number goes back with the transaction, and the next row gets it
				n.field.ReflectValueOf(stmt.Context, r.row).Set(r.former)
			}
		}
		stmt.Settings.Delete(n.key(stmt))
	}
}

func (n *numbered) settle(db *gorm.DB, rows []numberedRow) error {
	if len(rows) == 0 {
		return nil
	}
	conflict := mayMeet(db.Statement)
	if n.series.Gapless() && (conflict || db.RowsAffected < int64(len(rows))) {
		there, err := n.stored(db, rows, n.scope, n.field)
		if missing := int64(len(rows)) - there; err == nil && missing > 0 {
			err = n.fault("%d of %d rows were not inserted, and their numbers would be gaps", missing, len(rows))
		}
		if err != nil {
			return err
		}
	}
	if conflict && !n.series.Gapless() {
		return nil // the values may be those of other rows, which RETURNING found
	}
	for _, r := range rows {
		// A hook may have replaced a number that has gaps.
		switch own := n.holds(db, n.field, r.row, r.number); {
		case own && n.holds(db, n.scope, r.row, r.scope):
		case own || n.series.Gapless():
			return n.fault("a callback has changed the row after it was numbered: register it before the plugin")
		}
	}
	return nil
}

// holds reports whether the field of a row has a value, which is given as text. A nil field has any.
func (n *numbered) holds(db *gorm.DB, field *schema.Field, row reflect.Value, text string) bool {
	if field == nil {
		return true
	}
	value, _ := field.ValueOf(db.Statement.Context, row)
	is, _ := plain(value)
	return is == text
}
