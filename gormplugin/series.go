package gormplugin

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/snowlease/snowlease/numbers/series"
)

// ErrSeries is returned if a field that is tagged idworker:"series=..." cannot be filled.
var ErrSeries = errors.New("gormplugin: no number")

// A numbered is a field that is filled from a series.
type numbered struct {
	field, scope *schema.Field // scope may be nil
	series       *series.Series
	within       func(context.Context, func(context.Context) error) error // Plugin.within
	text         bool                                                     // the field holds the printed number
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

const noSeries = "a series fills no primary key, since its numbers repeat for each scope: add a column"

func (p *Plugin) newNumbered(dialect string, field *schema.Field, name, scope string, scoped bool) *numbered {
	n := &numbered{field: field, within: p.within, text: field.IndirectFieldType.Kind() == reflect.String}
	n.column = n.columnOf(dialect)
	switch {
	case p.cfg.Series == nil:
		n.err = n.fault("there are no series: list them in idworker.Config.Series, or set Config.Series")
	case field.PrimaryKey:
		n.err = n.fault(noSeries)
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
