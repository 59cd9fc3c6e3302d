package gormplugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"

	"github.com/snowlease/snowlease/numbers/series"
)

// numberEarly fills the fields of one INSERT from series with gaps, before BEGIN, so that waiting
// for numbers holds no connection, and no lock of a SQLite file.
func (f *filler) numberEarly(db *gorm.DB) { f.number(db, true) }

// numberLate is the callback that fills the others, in the transaction of the statement, when hooks
// have run and parents are saved, which may set the scope, and as late as possible, because a
// gapless series locks it.
func (f *filler) numberLate(db *gorm.DB) { f.number(db, false) }

func (f *filler) number(db *gorm.DB, early bool) {
	stmt := db.Statement
	if db.Error != nil || stmt.Schema == nil || stmt.DryRun || skipped(stmt) || f.excluded(stmt) {
		return
	}
	fields := f.numberedOf(stmt)
	if !early { // all, before the first one looks
		for _, n := range fields {
			if err := n.lock(db); err != nil {
				_ = db.AddError(err)
				return
			}
		}
	}
	for _, n := range fields {
		if early && n.err == nil && n.series.Gapless() {
			continue
		}
		if err := n.fill(db, early); err != nil {
			_ = db.AddError(err)
			return
		}
	}
}

// lock has the series make sure that the transaction may look which rows are stored before it takes
// numbers, for the scopes of rows that have none yet.
func (n *numbered) lock(db *gorm.DB) error {
	stmt := db.Statement
	if n.err != nil || !n.series.Gapless() || !mayMeet(stmt) {
		return nil // fill reports it
	}
	tx, ok := transactionOf(stmt.ConnPool)
	if _, isMap := mapsOf(stmt.Dest); !ok || isMap {
		return nil
	}
	if inserted, err := n.insertedBy(stmt); err != nil || !inserted {
		return err
	}
	rows, err := n.scopes(db, false)
	if err != nil || !slices.ContainsFunc(rows, func(r numberedRow) bool { return !n.newKey(stmt, r.row) }) {
		return err
	}
	in, locked := n.series.In(tx), map[string]bool{}
	for _, r := range rows {
		if _, zero := n.field.ValueOf(stmt.Context, r.row); !zero || locked[r.scope] {
			continue
		}
		locked[r.scope] = true
		if err := in.Fill(stmt.Context, r.scope, nil); err != nil && !errors.Is(err, series.ErrScope) { // of a row that is stored, maybe
			return err
		}
	}
	return nil
}

func (n *numbered) fill(db *gorm.DB, early bool) error {
	stmt := db.Statement
	if n.err != nil {
		return n.err
	}
	if inserted, err := n.insertedBy(stmt); err != nil || !inserted {
		return err
	}
	if _, ok := mapsOf(stmt.Dest); ok {
		return n.fault("a map cannot be numbered: create a %s", n.field.Schema.Name)
	}
	rows, err := n.rows(db, early)
	if err != nil || len(rows) == 0 {
		return err
	}
	from := n.series
	if from.Gapless() {
		if n.replacedBy(stmt) {
			return n.fault("an upsert would replace the number of a row that is there, which leaves a gap")
		}
		tx, ok := transactionOf(stmt.ConnPool)
		if !ok {
			return n.fault("series %q is gapless: use db.Transaction, as GORM begins none with SkipDefaultTransaction or gorm.io/sharding", from.Status().Name)
		}
		from = from.In(tx)
	}
	number := func(ctx context.Context) error { return n.numberRows(ctx, stmt, from, rows) }
	if from.Gapless() { // it waits for the locks of other transactions
		return number(stmt.Context)
	}
	return n.within(stmt.Context, number)
}

// numberRows sets the numbers of rows, which are sorted by scope.
func (n *numbered) numberRows(ctx context.Context, stmt *gorm.Statement, from *series.Series, rows []numberedRow) (err error) {
	all := n.numbered(stmt)
	stmt.Settings.Store(n.key(stmt), all)
	for first := 0; first < len(rows); {
		last := first
		for last < len(rows) && rows[last].scope == rows[first].scope {
			last++
		}
		numbers := make([]series.Number, last-first)
		if err := from.Fill(ctx, rows[first].scope, numbers); err != nil {
			return err
		}
		for i, number := range numbers {
			r := &rows[first+i]
			r.key, r.former = keyValues(stmt, r.row), copied(n.field.ReflectValueOf(ctx, r.row))
			r.number, err = n.set(stmt, r.row, number)
			if all[r.row.Addr().Pointer()] = *r; err != nil {
				return err
			}
		}
		first = last
	}
	return nil
}

// A numberedRow is a row to be numbered, or one with its number.
type numberedRow struct {
	row           reflect.Value
	scope, number string
	key           []any         // before the INSERT
	former        reflect.Value // of the field, before it was numbered
}

// keyValues returns the values of the primary key of a row.
func keyValues(stmt *gorm.Statement, row reflect.Value) (values []any) {
	for _, f := range stmt.Schema.PrimaryFields {
		value, _ := f.ValueOf(stmt.Context, row)
		values = append(values, value)
	}
	return values
}

func isZero(value any) bool {
	v := reflect.ValueOf(value)
	return !v.IsValid() || v.IsZero()
}

func copied(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	return c
}

// numbered returns the rows that the statement has numbered, by their addresses.
func (n *numbered) numbered(stmt *gorm.Statement) map[uintptr]numberedRow {
	v, _ := stmt.Settings.Load(n.key(stmt))
	if all, ok := v.(map[uintptr]numberedRow); ok {
		return all
	}
	return map[uintptr]numberedRow{}
}

// key is under what a statement has the rows that were numbered.
func (n *numbered) key(stmt *gorm.Statement) string { return ownKey(stmt, "numbered:"+n.field.DBName) }

// ownKey is under what a statement keeps something of its own. InstanceSet would clone the statement of
// a session, as a scope may return it.
func ownKey(stmt *gorm.Statement, what string) string {
	return fmt.Sprintf("%p idworker:%s", stmt, what)
}

// rows returns the rows to number, as scopes does.
func (n *numbered) rows(db *gorm.DB, early bool) (rows []numberedRow, err error) {
	all, err := n.scopes(db, early)
	before := n.numbered(db.Statement) // early
	for _, r := range all {
		var kept bool
		if kept, err = n.keeps(db, r, before); err != nil {
			return nil, err
		}
		if !kept {
			rows = append(rows, r)
		}
	}
	return rows, err
}

// scopes returns the rows with their scopes, in the order in which transactions should lock these;
// early, those whose scope is known.
func (n *numbered) scopes(db *gorm.DB, early bool) (rows []numberedRow, err error) {
	stmt := db.Statement
	switch stmt.ReflectValue.Kind() {
	case reflect.Struct, reflect.Slice, reflect.Array:
	default:
		return nil, nil // GORM reports it
	}
	seen := map[uintptr]bool{}
	for i := range length(stmt.ReflectValue) {
		row := rowAt(stmt.ReflectValue, i)
		switch {
		case !row.IsValid():
			continue // GORM reports it
		case row.Type() != n.field.Schema.ModelType:
			return nil, n.fault("a %s cannot be numbered: create a %s", row.Type(), n.field.Schema.ModelType)
		case !row.CanAddr():
			return nil, n.fault("a %s passed by value cannot be set: pass a pointer", row.Type())
		case seen[row.Addr().Pointer()]:
			return nil, n.fault("a row is listed twice")
		}
		seen[row.Addr().Pointer()] = true
		r := numberedRow{row: row}
		if n.scope != nil {
			value, zero := n.scope.ValueOf(stmt.Context, row)
			if zero && early {
				continue
			}
			if zero {
				return nil, n.fault("%s, which says whose number it is, is zero", n.scope.Name)
			}
			var ok bool
			if r.scope, ok = plain(value); !ok {
				return nil, n.fault("%s, which says whose number it is, is neither a text nor a whole number", n.scope.Name)
			}
		}
		rows = append(rows, r)
	}
	slices.SortStableFunc(rows, func(a, b numberedRow) int { return cmp.Compare(a.scope, b.scope) })
	return rows, nil
}

// set puts a number into the field, checks that the field holds it, and returns it as text.
func (n *numbered) set(stmt *gorm.Statement, row reflect.Value, number series.Number) (string, error) {
	var value any = number.Value
	if n.text {
		value = number.String()
	}
	if n.field.FieldType.Kind() == reflect.Pointer { // a copy of the row may share what it points to
		n.field.ReflectValueOf(stmt.Context, row).SetZero()
	}
	if err := n.field.Set(stmt.Context, row, value); err != nil {
		return "", fmt.Errorf("%w: %w", n.fault("it cannot hold %v", value), err)
	}
	held, _ := n.field.ValueOf(stmt.Context, row)
	text := fmt.Sprint(value)
	if is, ok := plain(held); !ok || is != text || !n.column.holds(value) {
		return "", n.fault("it is too small for %v", value)
	}
	return text, nil
}

// transactionOf returns the transaction of a statement, if there is one. What begins transactions is
// none itself, but may wrap one: gorm.io/sharding wraps the pool of each statement.
func transactionOf(pool gorm.ConnPool) (series.Tx, bool) {
	for {
		_, begins := pool.(gorm.TxBeginner)
		if !begins {
			_, begins = pool.(gorm.ConnPoolBeginner)
		}
		if !begins {
			tx, ok := pool.(series.Tx)
			return tx, ok
		}
		outer := reflect.Indirect(reflect.ValueOf(pool))
		if outer.Kind() != reflect.Struct {
			return nil, false
		}
		inner := outer.FieldByName("ConnPool")
		if !inner.IsValid() || !inner.CanInterface() {
			return nil, false
		}
		var ok bool
		if pool, ok = inner.Interface().(gorm.ConnPool); !ok {
			return nil, false
		}
	}
}
