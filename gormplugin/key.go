package gormplugin

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/snowflake"
)

// A kind is a way to store an id in a key.
type kind int

const (
	kindInt kind = iota // signed or not
	kindString
	kindScan    // with the type's Scan
	kindConvert // with Config.Convert
)

// A key describes the field of a model to fill, and how to fill it.
type key struct {
	plugin  *plugin
	field   *schema.Field
	kind    kind
	convert func(*schema.Field, int64) (any, error)
	plain   bool             // an integer without pointers on the way, like most keys
	gen     snowflake.Source // the source of ids, or of a segment's numbers
	number  bool             // the column holds numbers and no text
	integer bool             // the column and the field are both integers
	most    int64            // the largest number that fits
	size    int64            // the number of characters or bytes that fit, or 0 for numbers
	warned  atomic.Bool
	err     error // why a zero key cannot be filled
}

// keyOf returns the key of a model, or nil if the plugin leaves the model alone.
func (f *filler) keyOf(stmt *gorm.Statement) *key {
	k, ok := f.keys.Load(stmt.Schema)
	if !ok {
		k, _ = f.keys.LoadOrStore(stmt.Schema, f.newKey(stmt.Schema, stmt.Name()))
	}
	return k.(*key)
}

func (p *plugin) newKey(s *schema.Schema, dialect string) *key {
	field, tag, err := findField(s)
	if err != nil {
		return &key{field: field, err: err}
	}
	tagged := tag != ""
	if field == nil || !field.Creatable || !tagged && (p.cfg.TaggedOnly || hasSource(s, field)) {
		return nil
	}
	k := &key{plugin: p, field: field, convert: p.cfg.Convert, gen: p.source, most: math.MaxInt64}
	name, segment := segmentOf(tag)
	if segment {
		if k.gen, k.err = p.segment(name); k.err != nil {
			k.err = fmt.Errorf("%w: %w", k.fault("it is tagged idworker:%q", tag), k.err)
			return k
		}
	}
	known, err := k.classify(segment, dialect)
	// GORM marks an embedded pointer by a negative index.
	k.plain = k.kind == kindInt && field.FieldType.Kind() != reflect.Pointer && slices.Min(field.StructField.Index) >= 0
	switch {
	case err != nil:
		k.err = err
	case !known && !tagged:
		return nil
	case !known:
		k.err = k.fault("its type %s is unknown to the plugin; set Config.Convert, or tag it `idworker:\"-\"`", field.FieldType)
	}
	return k
}

// classify determines how to store an id in the field, if that is possible.
func (k *key) classify(segment bool, dialect string) (known bool, err error) {
	c := columnOf(dialect, k.field)
	k.number = c.number
	if c.text {
		k.size = c.max
	}
	if k.convert != nil {
		v, err := k.convert(k.field, 1)
		if err != nil {
			return false, fmt.Errorf("%w: Config.Convert: %w", k.fault("its value cannot be made"), err)
		}
		if v != nil {
			k.kind = kindConvert
			return true, nil
		}
	}
	if !c.text {
		k.most = c.max
	}
	t := k.field.FieldType
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.String:
		k.kind = kindString
		return true, nil
	case reflect.Zero(t).CanInt(), reflect.Zero(t).CanUint() && t.Kind() != reflect.Uintptr:
		k.kind = kindInt
	default:
		k.kind = kindScan
	}
	if err := k.limit(segment, t, c.name); err != nil {
		return false, err
	}
	if c.text && c.max < 19 {
		k.most = min(k.most, int64(math.Pow10(int(c.max)))-1)
	}
	k.integer = c.whole
	return k.kind != kindScan || scansIDs(t), nil
}

// limit lowers most to the largest number that the field holds, whose type is t or a pointer to t.
// It returns an error if the field or its column is too small for ids, unless it is for a segment.
func (k *key) limit(segment bool, t reflect.Type, column string) error {
	bits := 64
	if k.kind != kindScan {
		bits = t.Bits()
	}
	// The column may be smaller than the field: GORM makes it 32 bits by "size:32".
	if number := k.field.GORMDataType == schema.Int || k.field.GORMDataType == schema.Uint; number && k.field.Size > 0 {
		bits = min(bits, k.field.Size)
	}
	const leave = "or leave the model alone with the tag `idworker:\"-\"` or Config.Exclude"
	switch {
	case segment && bits < 64 && k.kind != kindScan:
		most := int64(1)<<bits - 1
		if reflect.Zero(t).CanInt() {
			most >>= 1
		}
		k.most = min(k.most, most)
	case bits <= 32 && k.kind != kindScan && t.Bits() > 32:
		return k.fault("its tag size:%d is too small, because ids have up to 63 bits; remove the tag and make the column BIGINT, %s", k.field.Size, leave)
	case bits <= 32:
		return k.fault("its type %s has %d bits and ids have up to 63; make it int64 and the column BIGINT, %s", k.field.FieldType, bits, leave)
	case !segment && k.most <= math.MaxUint32:
		return k.fault("its column %s holds %d at most and ids have up to 63 bits; make it BIGINT, %s", column, k.most, leave)
	}
	return nil
}

// scansIDs reports whether a type such as sql.NullInt64 accepts an id in Scan and returns it
// from Value.
func scansIDs(t reflect.Type) bool {
	const probe int64 = 1<<62 + 1 // a float64 would round it
	v := reflect.New(t)
	scanner, ok := v.Interface().(sql.Scanner)
	if !ok || scanner.Scan(probe) != nil {
		return false
	}
	valuer, ok := v.Interface().(driver.Valuer)
	if !ok {
		return false
	}
	back, err := valuer.Value()
	return err == nil && (back == any(probe) || back == any(strconv.FormatInt(probe, 10)))
}

// empty reports whether the key of a row is zero.
func (k *key) empty(ctx context.Context, row reflect.Value) (bool, error) {
	if k.plain {
		return k.field.ReflectValueOf(ctx, row).IsZero(), nil
	}
	value, zero := k.field.ValueOf(ctx, row)
	if zero {
		return true, nil
	}
	return k.zero(value)
}

// zero reports whether a key is Go's zero value, or a value that the column would store as
// NULL, empty text or the number 0. For a numeric column, text that is not a number is an
// error: a database in non-strict mode would store it as 0.
func (k *key) zero(value any) (bool, error) {
	if value == nil || reflect.ValueOf(value).IsZero() {
		return true, nil
	}
	v, err := driver.DefaultParameterConverter.ConvertValue(value)
	if err != nil {
		return false, nil // GORM meets the error too, or makes SQL of the value
	}
	text, ok := v.(string)
	switch v := v.(type) {
	case []byte:
		text, ok = string(v), true
	case float64:
		return k.number && math.Round(v) == 0, nil
	}
	if !ok || !k.number {
		return v == nil || v == int64(0) || v == false || ok && text == "", nil
	}
	zero, number := zeroText(text)
	if !number {
		return false, k.fault("its value is %q, which is not a number, and its column %s holds numbers", text, k.field.DBName)
	}
	return zero, nil
}

// zeroText reports whether a numeric column stores text as 0, and whether text is a number.
func zeroText(text string) (zero, number bool) {
	text = strings.TrimSpace(text)
	n, err := strconv.ParseFloat(cmp.Or(text, "0"), 64)
	number = !errors.Is(err, strconv.ErrSyntax) && !strings.ContainsAny(text, "xXnN") // hexadecimal, nan, infinity
	return number && math.Round(n) == 0, number
}

// set sets the key of a row to an id.
func (k *key) set(ctx context.Context, row reflect.Value, id int64) error {
	field := k.field.ReflectValueOf(ctx, row)
	switch {
	case k.plain && field.CanInt():
		field.SetInt(id)
		return nil
	case k.plain:
		field.SetUint(uint64(id))
		return nil
	}
	value, err := k.value(id)
	if err != nil {
		return err
	}
	field.SetZero() // otherwise GORM would write through a pointer, which rows may share
	if err := k.field.Set(ctx, row, value); err != nil {
		return fmt.Errorf("%w: %w", k.fault("it refuses %v", value), err)
	}
	return nil
}

// value returns the id as a value that GORM can set or store.
func (k *key) value(id int64) (any, error) {
	switch k.kind {
	case kindString:
		s := strconv.FormatInt(id, 10)
		return s, k.fits(s)
	case kindConvert:
		v, err := k.convert(k.field, id)
		if err == nil && v == nil {
			err = fmt.Errorf("no value for %d", id)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: Config.Convert: %w", k.fault("its value cannot be made"), err)
		}
		return v, k.fits(v)
	}
	return id, nil
}

// fits returns an error for text that is too long for the column. A database in non-strict mode
// would truncate it.
func (k *key) fits(v any) error {
	if n := runes(v); k.size > 0 && n > k.size {
		most := n
		if k.kind != kindConvert {
			most = 19 // ids grow
		}
		return k.fault("its column has %d characters and the id %s has %d; give it at least %d", k.size, v, n, most)
	}
	return nil
}

func (k *key) fault(format string, args ...any) error { return keyFault(k.field, format, args...) }

func keyFault(f *schema.Field, format string, args ...any) error {
	return fmt.Errorf("%w: %s of %s: %s", ErrKey, f.Name, f.Schema, fmt.Sprintf(format, args...))
}

// warn logs once per model that the database may number its column too.
func (k *key) warn(db *gorm.DB) {
	if k.field.AutoIncrement && k.warned.CompareAndSwap(false, true) {
		db.Logger.Warn(db.Statement.Context,
			"gormplugin: %s of %s is filled with ids, and AUTO_INCREMENT to GORM; if its column is, rows inserted without GORM get numbers that collide with later ids. "+
				"Tag it `gorm:\"primaryKey;autoIncrement:false\"`, as in gormplugin.Model, with gen.FieldGORMTag for gorm.io/gen, and change the table yourself; "+
				"or leave the model alone with the tag `idworker:\"-\"` or Config.Exclude", k.field.Name, k.field.Schema)
	}
}

// findField returns the field to fill and its tag, or nil if there is none. With an
// error it returns the faulty field.
func findField(s *schema.Schema) (field *schema.Field, tag string, err error) {
	field = s.PrioritizedPrimaryField
	for _, f := range s.PrimaryFields {
		t := tagOf(s, f)
		_, segment := segmentOf(t)
		switch {
		case t == "-" && f == field:
			field = nil
		case t == "" || t == "-":
		case t != "true" && !segment:
			return f, "", keyFault(f, "the tag idworker:%q is unknown; use \"true\", \"segment=\" with a name, or \"-\"", t)
		case tag == "" || f == s.PrioritizedPrimaryField:
			field, tag = f, t
		case field != s.PrioritizedPrimaryField:
			return f, "", keyFault(f, "it is tagged idworker:%q as %s is; tag one field of the key only", t, field.Name)
		}
	}
	for _, f := range s.Fields {
		if tag := f.Tag.Get("idworker"); tag != "" && tag != "-" && !f.PrimaryKey {
			return f, "", keyFault(f, "it is tagged idworker:%q but is not a primary key; tag it gorm:\"primaryKey\" as well", tag)
		}
	}
	return field, tag, nil
}

// segment returns the source of the named segment.
func (p *plugin) segment(name string) (snowflake.Source, error) {
	if p.cfg.Segments == nil {
		return nil, errors.New("there are no segments; list them in idworker.Config.Segments, or set Config.Segments")
	}
	gen, err := p.cfg.Segments(name)
	if err == nil && fault.Nil(gen) {
		err = errors.New("Config.Segments returned no generator of that name")
	}
	return gen, err
}

// segmentOf returns the segment's name in a tag such as "segment=invoices".
func segmentOf(tag string) (name string, ok bool) {
	name, ok = strings.CutPrefix(tag, "segment=")
	return name, ok && name != ""
}

// tagOf returns the field's tag, or "". The tag of an embedded struct around the field takes
// precedence, since the fields of a base such as gorm.Model cannot be tagged.
func tagOf(s *schema.Schema, f *schema.Field) string {
	t := s.ModelType
	for _, name := range f.BindNames {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		sf, found := t.FieldByName(name)
		if !found {
			break
		}
		if tag := sf.Tag.Get("idworker"); tag != "" {
			return tag
		}
		t = sf.Type
	}
	return ""
}

// hasSource reports whether a key has another source: the database, the row that it refers to
// or, for a UUID, the application.
func hasSource(s *schema.Schema, f *schema.Field) bool {
	if zero, _ := zeroText(f.DefaultValue); !zero && !strings.EqualFold(f.DefaultValue, "null") || strings.EqualFold(string(f.DataType), "uuid") {
		return true
	}
	for _, rel := range s.Relationships.BelongsTo {
		for _, ref := range rel.References {
			if ref.ForeignKey == f {
				return true
			}
		}
	}
	return false
}
