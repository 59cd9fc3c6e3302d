package gormplugin

import (
	"cmp"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
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
	column       column
	err          error
}

func (n *numbered) fault(format string, args ...any) error {
	return fmt.Errorf("%w: %s.%s: %s", ErrSeries, n.field.Schema.Name, n.field.Name, fmt.Sprintf(format, args...))
}

// numberedOf returns the fields of the statement's model that series fill.
func (f *filler) numberedOf(stmt *gorm.Statement) []*numbered {
	if list, ok := f.numbered.Load(stmt.Schema); ok {
		return list.([]*numbered) //nolint:forcetypeassert // nothing else is stored
	}
	var list []*numbered
	for _, field := range stmt.Schema.Fields {
		if shadowed(field) {
			continue
		}
		tag := field.Tag.Get("idworker")
		name, ok := strings.CutPrefix(tag, "series=")
		_, segmented := segmentOf(tag)
		switch name, scope, scoped := strings.Cut(name, ",scope="); {
		case ok:
			list = append(list, f.newNumbered(stmt.Name(), field, name, scope, scoped))
		case tag != "" && tag != "-" && tag != "true" && !segmented:
			n := &numbered{field: field}
			n.err = n.fault("the tag idworker:%q is unknown: write series=NAME,scope=FIELD", tag)
			list = append(list, n)
		}
	}
	kept, _ := f.numbered.LoadOrStore(stmt.Schema, list)
	return kept.([]*numbered) //nolint:forcetypeassert // as above
}

// shadowed reports whether the column of an embedded field is that of a nearer one.
func shadowed(field *schema.Field) bool {
	return field.DBName != "" && field.Schema.FieldsByDBName[field.DBName] != field
}

func (p *Plugin) newNumbered(dialect string, field *schema.Field, name, scope string, scoped bool) *numbered {
	n := &numbered{field: field, text: field.IndirectFieldType.Kind() == reflect.String}
	n.column = n.columnOf(dialect)
	switch {
	case p.cfg.Series == nil:
		n.err = n.fault("there are no series: list them in idworker.Config.Series, or set Config.Series")
	case field.PrimaryKey:
		n.err = n.fault("a series fills no primary key, since its numbers repeat for each scope: add a column")
	case !n.text && field.GORMDataType != schema.Int && field.GORMDataType != schema.Uint:
		n.err = n.fault("its type %s holds neither a text nor a whole number", field.FieldType)
	case !field.Creatable:
		n.err = n.fault("it is not written by Create: change its tag <- or ->")
	default:
		var err error
		if n.series, err = p.cfg.Series(name); err == nil && n.series == nil {
			err = errors.New("Config.Series returned no series of that name")
		}
		if err != nil {
			n.err = fmt.Errorf("%w: %w", n.fault("series %q", name), err)
		}
	}
	if scoped && n.err == nil {
		n.scope, n.err = n.scopeField(scope)
	}
	return n
}

// scopeField returns the field of that name beside the number, or else the next one outwards. GORM
// itself takes the last one of the model.
func (n *numbered) scopeField(name string) (*schema.Field, error) {
	model := n.field.Schema
	for up := len(n.field.BindNames) - 1; up >= 0; up-- {
		path := strings.Join(append(slices.Clone(n.field.BindNames[:up]), name), ".")
		if field := model.FieldsByBindName[path]; field != nil && !shadowed(field) {
			return field, nil
		}
	}
	field := model.LookUpField(name)
	if field == nil {
		return nil, n.fault("the model has no field %q for the scope", name)
	}
	if field.Name == name && slices.ContainsFunc(model.Fields, func(other *schema.Field) bool {
		return other.Name == name && other != field && !shadowed(other)
	}) {
		return nil, n.fault("the model has several fields %q for the scope: name a column", name)
	}
	return field, nil
}

// columnOf returns what the column can hold, as its tags declare.
func (n *numbered) columnOf(dialect string) column {
	if c, declared := declaredColumn(dialect, n.field); declared {
		return c
	}
	c := column{text: n.text, max: math.MaxInt64}
	switch size := n.field.Size; {
	case size <= 0 || !n.text && size >= 64:
	case n.text:
		c.max = int64(size)
	case n.field.GORMDataType == schema.Int:
		c.max = 1<<(size-1) - 1
	default:
		c.max = 1<<size - 1
	}
	return c
}

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
	for _, n := range fields {
		if early {
			break
		}
		if err := n.lock(db); err != nil {
			_ = db.AddError(err)
			return
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
			return n.fault("series %q is gapless: use db.Transaction, as GORM begins none with SkipDefaultTransaction or gorm.io/sharding", from.Name())
		}
		from = from.In(tx)
	}
	all := n.numbered(stmt)
	stmt.Settings.Store(n.key(stmt), all)
	for first := 0; first < len(rows); {
		last := first
		for last < len(rows) && rows[last].scope == rows[first].scope {
			last++
		}
		numbers := make([]series.Number, last-first)
		if err := from.Fill(stmt.Context, rows[first].scope, numbers); err != nil {
			return err
		}
		for i, number := range numbers {
			r := &rows[first+i]
			r.key, r.former = keyValues(stmt, r.row), copied(n.field.ReflectValueOf(stmt.Context, r.row))
			r.number, err = n.set(stmt, r.row, number)
			if all[r.row.Addr().Pointer()] = *r; err != nil {
				return err
			}
		}
		first = last
	}
	return nil
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

// transactionOf returns the transaction of a statement, if there is one. What begins transactions is
// none itself, but may wrap one: gorm.io/sharding wraps the pool of each statement.
func transactionOf(pool gorm.ConnPool) (segment.Tx, bool) {
	for {
		_, begins := pool.(gorm.TxBeginner)
		if !begins {
			_, begins = pool.(gorm.ConnPoolBeginner)
		}
		if !begins {
			tx, ok := pool.(segment.Tx)
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

// key is under what a statement has the rows that were numbered.
func (n *numbered) key(stmt *gorm.Statement) string { return ownKey(stmt, "numbered:"+n.field.DBName) }

// ownKey is under what a statement keeps something of its own. InstanceSet would clone the statement of
// a session, as a scope may return it.
func ownKey(stmt *gorm.Statement, what string) string {
	return fmt.Sprintf("%p idworker:%s", stmt, what)
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

// plain returns a text or a whole number as text, as it is stored: what a value prints may change, as
// that of a publicid.ID does with its secret.
func plain(value any) (text string, ok bool) {
	v := reflect.ValueOf(value)
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return "", false
	}
	if _, ok := value.(driver.Valuer); ok {
		stored, err := driver.DefaultParameterConverter.ConvertValue(value)
		if err != nil {
			return "", false
		}
		if raw, ok := stored.([]byte); ok {
			return string(raw), true
		}
		v = reflect.ValueOf(stored)
	}
	switch v = reflect.Indirect(v); {
	case v.Kind() == reflect.String:
		return v.String(), true
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10), true
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10), true
	}
	return "", false
}

// insertedBy reports whether the INSERT has the field. Omit drops it. Select does not, as with a
// key.
func (n *numbered) insertedBy(stmt *gorm.Statement) (bool, error) {
	if len(stmt.Selects) == 0 && len(stmt.Omits) == 0 {
		return true, nil
	}
	columns, restricted := stmt.SelectAndOmitColumns(true, false)
	inserted, named := columns[n.field.DBName]
	if named && !inserted {
		return false, nil
	}
	if n.scope != nil {
		if inserted, named := columns[n.scope.DBName]; named && !inserted || !named && restricted {
			return false, n.fault("%s, which says whose number it is, is not inserted", n.scope.Name)
		}
	}
	if !named && restricted {
		stmt.Selects = append(slices.Clip(stmt.Selects), n.field.DBName) // clipped, since sessions share the array
	}
	return true, nil
}

// replacedBy reports whether the statement would give a row that is there another number.
func (n *numbered) replacedBy(stmt *gorm.Statement) bool {
	conflict, _ := conflictOf(stmt)
	insert, _ := stmt.Clauses["INSERT"].Expression.(clause.Insert)
	return conflict.UpdateAll && n.field.Updatable || strings.Contains(strings.ToUpper(insert.Modifier), "REPLACE") ||
		slices.ContainsFunc(conflict.DoUpdates, func(a clause.Assignment) bool {
			return strings.EqualFold(a.Column.Name, n.field.DBName) || a.Column.Name == n.field.Name
		})
}

// A numberedRow is a row to be numbered, or one with its number.
type numberedRow struct {
	row           reflect.Value
	scope, number string
	key           []any         // before the INSERT
	former        reflect.Value // of the field, before it was numbered
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
