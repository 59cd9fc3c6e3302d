package gormplugin

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/snowlease/snowlease/numbers/segment"
	"github.com/snowlease/snowlease/numbers/series"
)

// ErrSeries is returned if a field that is tagged idworker:"series=..." cannot be filled.
var ErrSeries = errors.New("gormplugin: no number")

// A numbered is a field that is filled from a series.
type numbered struct {
	field, scope *schema.Field // scope may be nil
	series       *series.Series
	text         bool // the field holds the printed number
	err          error
}

func (n *numbered) fault(format string, args ...any) error {
	return fmt.Errorf("%w: %s.%s: %s", ErrSeries, n.field.Schema.Name, n.field.Name, fmt.Sprintf(format, args...))
}

// numberedBy returns the series in a tag such as "series=invoices,scope=TenantID", and the field
// that has the scope.
func numberedBy(tag string) (name, scope string, ok bool) {
	name, ok = strings.CutPrefix(tag, "series=")
	name, scope, _ = strings.Cut(name, ",scope=")
	return name, scope, ok
}

// numberedOf returns the fields of the statement's model that series fill.
func (f *filler) numberedOf(stmt *gorm.Statement) []*numbered {
	if list, ok := f.numbered.Load(stmt.Schema); ok {
		return list.([]*numbered) //nolint:forcetypeassert // nothing else is stored
	}
	var list []*numbered
	for _, field := range stmt.Schema.Fields {
		if name, scope, ok := numberedBy(field.Tag.Get("idworker")); ok {
			list = append(list, f.newNumbered(field, name, scope))
		}
	}
	kept, _ := f.numbered.LoadOrStore(stmt.Schema, list)
	return kept.([]*numbered) //nolint:forcetypeassert // as above
}

func (p *Plugin) newNumbered(field *schema.Field, name, scope string) *numbered {
	n := &numbered{field: field, text: field.IndirectFieldType.Kind() == reflect.String}
	switch {
	case p.cfg.Series == nil:
		n.err = n.fault("there are no series: list them in idworker.Config.Series, or set Config.Series")
	case field.PrimaryKey:
		n.err = n.fault("a series fills no primary key, since its numbers repeat for each scope: add a column")
	case !n.text && field.DataType != schema.Int && field.DataType != schema.Uint:
		n.err = n.fault("its type %s holds neither a text nor a whole number", field.FieldType)
	default:
		var err error
		if n.series, err = p.cfg.Series(name); err != nil {
			n.err = fmt.Errorf("%w: %w", n.fault("series %q", name), err)
		}
	}
	if n.scope = field.Schema.LookUpField(scope); scope != "" && n.scope == nil && n.err == nil {
		n.err = n.fault("the model has no field %q for the scope", scope)
	}
	return n
}

// numberEarly fills the fields of one INSERT from series with gaps, before BEGIN, so that waiting for numbers holds no connection, and no lock of a SQLite file.
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
	for _, n := range f.numberedOf(stmt) {
		if early && n.err == nil && n.series.Gapless() {
			continue
		}
		if err := n.fill(db, early); err != nil {
			_ = db.AddError(err)
			return
		}
	}
}

func (n *numbered) fill(db *gorm.DB, early bool) error {
	stmt := db.Statement
	if n.err != nil {
		return n.err
	}
	if _, ok := mapsOf(stmt.Dest); ok {
		return n.fault("a map cannot be numbered: create a %s", n.field.Schema.Name)
	}
	from := n.series
	if from.Gapless() {
		if n.replacedBy(stmt) {
			return n.fault("an upsert would replace the number of a row that is there, which leaves a gap")
		}
		tx, ok := stmt.ConnPool.(segment.Tx)
		if !ok {
			return n.fault("series %q is gapless: use db.Transaction, as GORM begins none with SkipDefaultTransaction", from.Name())
		}
		from = from.In(tx)
	}
	rows, err := n.rows(db, early)
	if err != nil {
		return err
	}
	var list []numbersOf
	for first := 0; first < len(rows); {
		last := first
		for last < len(rows) && rows[last].scope == rows[first].scope {
			last++
		}
		numbers := make([]series.Number, last-first)
		if err := from.Fill(stmt.Context, rows[first].scope, numbers); err != nil {
			return err
		}
		of := numbersOf{field: n.field, scope: n.scope}
		if n.scope != nil {
			of.of, _ = n.scope.ValueOf(stmt.Context, rows[first].row)
		}
		for i, number := range numbers {
			var value any = number.Value
			if n.text {
				value = number.String()
			}
			if err := n.field.Set(stmt.Context, rows[first+i].row, value); err != nil {
				return fmt.Errorf("%w: %w", n.fault("it cannot hold %v", value), err)
			}
			of.numbers = append(of.numbers, value)
		}
		list = append(list, of)
		first = last
	}
	if _, conflict := conflictOf(stmt); from.Gapless() && (conflict || ignores(stmt)) {
		before, _ := db.InstanceGet(numberedRows)
		all, _ := before.([]numbersOf)
		db.InstanceSet(numberedRows, append(all, list...))
	}
	return nil
}

// replacedBy reports whether the statement would give a row that is there another number.
func (n *numbered) replacedBy(stmt *gorm.Statement) bool {
	conflict, _ := conflictOf(stmt)
	return conflict.UpdateAll || slices.ContainsFunc(conflict.DoUpdates, func(a clause.Assignment) bool { return a.Column.Name == n.field.DBName })
}

// keeps reports whether a number that a row has is its own. That of a gapless series may be one of
// a transaction that was rolled back, which another row has by now, unless the statement updates
// rows that are there, as GORM does with the children of a row.
func (n *numbered) keeps(stmt *gorm.Statement) bool {
	conflict, _ := conflictOf(stmt)
	return !n.series.Gapless() || len(conflict.DoUpdates) > 0
}

// numberedRows are the gapless numbers of a statement that may not insert all rows.
const numberedRows = "idworker:numbered"

// numbersOf are the numbers of a scope.
type numbersOf struct {
	field, scope *schema.Field
	of           any
	numbers      []any
}

// A numberedRow is a row to be numbered.
type numberedRow struct {
	row   reflect.Value
	scope string
}

// rows returns the rows to number by their scopes, in the order in which transactions should lock
// them; early, those whose scope is known.
func (n *numbered) rows(db *gorm.DB, early bool) (rows []numberedRow, err error) {
	stmt := db.Statement
	for i := range length(stmt.ReflectValue) {
		row := rowAt(stmt.ReflectValue, i)
		if !row.IsValid() {
			continue // GORM reports it
		}
		if _, zero := n.field.ValueOf(stmt.Context, row); !zero && n.keeps(stmt) {
			continue
		}
		if !row.CanAddr() {
			return nil, n.fault("a %s passed by value cannot be set: pass a pointer", row.Type())
		}
		scope := ""
		if n.scope != nil {
			value, zero := n.scope.ValueOf(stmt.Context, row)
			if zero && early {
				continue
			}
			if zero {
				return nil, n.fault("%s, which says whose number it is, is zero", n.scope.Name)
			}
			scope = fmt.Sprint(reflect.Indirect(reflect.ValueOf(value)).Interface())
		}
		rows = append(rows, numberedRow{row, scope})
	}
	slices.SortStableFunc(rows, func(a, b numberedRow) int { return cmp.Compare(a.scope, b.scope) })
	return rows, nil
}

// settleNumbered fails a statement that did not insert each row with its gapless number, as ON
// CONFLICT may do, so that the transaction takes the number back.
func settleNumbered(db *gorm.DB) {
	list, ok := db.InstanceGet(numberedRows)
	if !ok || db.Error != nil {
		return
	}
	for _, of := range list.([]numbersOf) { //nolint:forcetypeassert // nothing else is stored
		query := db.Session(&gorm.Session{NewDB: true}).Table(db.Statement.Table).Where(clause.IN{Column: clause.Column{Name: of.field.DBName}, Values: of.numbers})
		if of.scope != nil {
			query = query.Where(clause.Eq{Column: clause.Column{Name: of.scope.DBName}, Value: of.of})
		}
		var there int64
		if err := query.Count(&there).Error; err != nil {
			_ = db.AddError(err)
			return
		}
		if n := int64(len(of.numbers)); there < n {
			_ = db.AddError(fmt.Errorf("%w: %s.%s: %d of %d rows were not inserted, and their numbers would be gaps", ErrSeries, of.field.Schema.Name, of.field.Name, n-there, n))
			return
		}
	}
}
