package gormplugin

import (
	"database/sql/driver"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"gorm.io/gorm/schema"
)

// A column describes the column of a key, as in the database's catalog.
type column struct {
	name   string // the type's name
	text   bool   // holds and sorts text or bytes, not numbers
	number bool   // holds numbers and no text
	whole  bool   // holds integers only
	max    int64  // the largest integer, or the number of characters or bytes
}

// maxInts maps the signed integer types of MySQL, MariaDB and PostgreSQL to their maximum.
var maxInts = map[string]int64{
	"tinyint": math.MaxInt8, "smallint": math.MaxInt16, "mediumint": 1<<23 - 1, "int": math.MaxInt32, "integer": math.MaxInt32, "bigint": math.MaxInt64,
	"int2": math.MaxInt16, "int4": math.MaxInt32, "int8": math.MaxInt64,
	"smallserial": math.MaxInt16, "serial": math.MaxInt32, "bigserial": math.MaxInt64,
}

// maxFloats maps float types to the largest integer up to which they hold every integer
// exactly.
var maxFloats = map[string]int64{"float": 1 << 24, "float4": 1 << 24, "real": 1 << 24, "double": 1 << 53, "float8": 1 << 53}

// maxTexts maps text types to their lengths, for catalogs that omit these.
var maxTexts = map[string]int64{
	"char": 1, "bpchar": math.MaxInt64, "varchar": math.MaxInt64, "binary": 1, "varbinary": math.MaxInt64, "bytea": math.MaxInt64,
	"tinytext": math.MaxUint8, "text": math.MaxUint16, "mediumtext": 1<<24 - 1, "longtext": math.MaxUint32,
	"tinyblob": math.MaxUint8, "blob": math.MaxUint16, "mediumblob": 1<<24 - 1, "longblob": math.MaxUint32,
}

// typeText parses a type such as varchar(20).
var typeText = regexp.MustCompile(`^\s*(\w*)(?:\s*\(\s*(\d+)(?:\s*,\s*(\d+))?\s*\))?`)

// columnOf returns the column of a field, as declared with the tag "type:" or else as created by
// GORM.
func columnOf(dialect string, f *schema.Field) column {
	switch f.DataType {
	case "", schema.Bool, schema.Int, schema.Uint, schema.Float, schema.String, schema.Time, schema.Bytes:
	default:
		if c, err := columnTyped(dialect, string(f.DataType)); err == nil {
			return c
		}
	}
	c := column{
		text:  f.DataType == schema.String || f.DataType == schema.Bytes,
		whole: f.DataType == schema.Int || f.DataType == schema.Uint,
		max:   math.MaxInt64,
	}
	c.number = c.whole
	if c.text && f.Size > 0 {
		c.max = int64(f.Size)
	}
	return c
}

// columnTyped returns the column of a type as a tag or the database's catalog writes it.
func columnTyped(dialect, text string) (column, error) {
	text = strings.ToLower(text)
	c := column{name: text, number: true}
	if dialect == "sqlite" {
		return c.affine(), nil
	}
	m := typeText.FindStringSubmatch(strings.NewReplacer("character varying", "varchar", "character", "char").Replace(text))
	name := m[1]
	size, _ := strconv.ParseInt(m[2], 10, 64) // 0 without a size
	scale, _ := strconv.ParseInt(m[3], 10, 64)
	if limit, ok := maxInts[name]; ok {
		c.max, c.whole = limit, true
		if strings.Contains(text, "unsigned") && limit < math.MaxInt64 {
			c.max = 2*limit + 1
		}
		return c, nil
	}
	if limit, ok := maxFloats[name]; ok {
		c.max = limit
		return c, nil
	}
	if name == "numeric" || name == "decimal" {
		c.max = math.MaxInt64
		if size > 0 && size-scale < 19 { // PostgreSQL's NUMERIC without a precision holds any number
			c.max = int64(math.Pow10(int(max(size-scale, 0)))) - 1
		}
		return c, nil
	}
	limit, ok := maxTexts[name]
	if !ok {
		return c, fmt.Errorf("its type %s is unknown to CheckTable; compare its range with the ids yourself", text)
	}
	c.text, c.number, c.max = true, false, limit
	if size > 0 {
		c.max = size
	} else if dialect == "postgres" {
		c.max = math.MaxInt64
	}
	return c, nil
}

// affine completes a column of SQLite, which derives the affinity from the name of the type and
// ignores sizes.
func (c column) affine() column {
	has := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(c.name, part) {
				return true
			}
		}
		return false
	}
	c.max = math.MaxInt64
	switch {
	case has("int"):
	case has("char", "clob", "text"), c.name == "", has("blob"):
		c.text, c.number = true, false
	case has("real", "float", "double"):
		c.max = 1 << 53
	default: // also accepts text, such as a UUID
		c.number = has("numeric", "decimal")
	}
	return c
}

// value returns the id as the column stores it.
func (c column) value(k *key, id int64) (any, error) {
	switch {
	case k.kind == kindConvert, c.text && k.kind == kindString:
		return k.value(id)
	case c.text:
		return strconv.FormatInt(id, 10), nil
	}
	return id, nil
}

// holds reports whether the column can store the id.
func (c column) holds(k *key, id int64) bool {
	v, err := c.value(k, id)
	if c.text || err != nil {
		return err == nil && runes(v) <= c.max
	}
	v, _ = driver.DefaultParameterConverter.ConvertValue(v)
	n, err := strconv.ParseInt(fmt.Sprint(v), 10, 64)
	return err == nil && n <= c.max
}

// runes returns the length in characters, or in bytes for a []byte.
func runes(v any) int64 {
	if b, ok := v.([]byte); ok {
		return int64(len(b))
	}
	return int64(utf8.RuneCountInString(fmt.Sprint(v)))
}
