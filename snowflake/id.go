package snowflake

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ID is an int64 with text, JSON and SQL encodings.
//
// Its text encoding is the number in base 10. Its JSON encoding is the same as a string, because
// a JavaScript number holds only 53 bits. In a database, an ID is a BIGINT. Each id has exactly
// one encoding, and parsing accepts no other: no sign, spaces or leading zeros, and nothing above
// 2^63-1.
//
// Encoded ids sort like ids only while they have the same length, and ids of the default layout
// get a 19th digit in 2027. In a text column, use a plain publicid.Codec: its strings always
// sort, and differ in every collation.
//
// The zero ID means "none yet" and is encoded like any other. A negative ID is invalid: it can be
// encoded, but not parsed.
//
// In GORM, a field of this type is a BIGINT. Unlike an int64, it is not AUTO_INCREMENT as a
// primary key.
type ID int64

// ParseID parses a string in the format of String. It is strict: see ID.
func ParseID(s string) (ID, error) { return parse(s) }

func parse[T string | []byte](text T) (ID, error) {
	var n uint64 // of up to 19 digits, so it does not overflow
	ok := len(text) > 0 && len(text) <= 19 && (text[0] != '0' || len(text) == 1)
	for i := 0; ok && i < len(text); i++ {
		digit := text[i] - '0'
		ok = digit <= 9
		n = n*10 + uint64(digit)
	}
	if !ok || n > math.MaxInt64 {
		return 0, refusal(string(text))
	}
	return ID(n), nil
}

// refusal returns the reason why s is not an id.
func refusal(s string) error {
	why := "it is above 2^63-1"
	i := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	switch {
	case s == "":
		why = "it is empty"
	case i == 0 && s[0] == '-':
		why = "an id is not negative"
	case i >= 0:
		r, _ := utf8.DecodeRuneInString(s[i:])
		why = fmt.Sprintf("character %q at %d is no digit", r, i)
	case s[0] == '0':
		why = "it has leading zeros; remove them"
	}
	const show = 40
	if len(s) > show { // s may be untrusted input of any length
		return fmt.Errorf("snowflake: parse id %q... (%d bytes): %s", s[:show], len(s), why)
	}
	return fmt.Errorf("snowflake: parse id %q: %s", s, why)
}

// String returns id in base 10.
func (id ID) String() string { return strconv.FormatInt(int64(id), 10) }

// MarshalText returns id in base 10, like String.
func (id ID) MarshalText() ([]byte, error) { return strconv.AppendInt(nil, int64(id), 10), nil }

// UnmarshalText parses id in base 10, strictly: see ID.
func (id *ID) UnmarshalText(b []byte) error {
	parsed, err := parse(b)
	if err == nil {
		*id = parsed
	}
	return err
}

// MarshalBinary returns id in base 10, as go-redis stores it.
func (id ID) MarshalBinary() ([]byte, error) { return id.MarshalText() }

// UnmarshalBinary is like UnmarshalText, for go-redis.
func (id *ID) UnmarshalBinary(b []byte) error { return id.UnmarshalText(b) }

// UnmarshalParam is like UnmarshalText, for the binding of gin and of echo, which parse an int64
// less strictly.
func (id *ID) UnmarshalParam(text string) error { return id.UnmarshalText([]byte(text)) }

// MarshalGQL writes id as a string in base 10, for gqlgen.
func (id ID) MarshalGQL(w io.Writer) { _, _ = io.WriteString(w, `"`+id.String()+`"`) }

// UnmarshalGQL reads a string or an integer in base 10, for gqlgen.
func (id *ID) UnmarshalGQL(v any) error {
	if n, ok := v.(json.Number); ok {
		v = n.String()
	}
	return id.Scan(v)
}

// MarshalJSON returns id as a JSON string in base 10.
func (id ID) MarshalJSON() ([]byte, error) {
	const longest = len(`"-9223372036854775808"`)
	return append(strconv.AppendInt(append(make([]byte, 0, longest), '"'), int64(id), 10), '"'), nil
}

// UnmarshalJSON parses a JSON string or an integer in base 10. It leaves id unchanged on null. A
// fraction or an exponent is an error, because the program that wrote it has probably rounded the
// id.
func (id *ID) UnmarshalJSON(b []byte) error {
	switch n := len(b); {
	case string(b) == "null":
		return nil
	case n > 1 && b[0] == '"' && b[n-1] == '"' && bytes.IndexByte(b, '\\') < 0:
		b = b[1 : n-1]
	case n > 0 && b[0] == '"':
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return fmt.Errorf("snowflake: id in JSON: %w", err)
		}
		b = []byte(s)
	case n > 0 && bytes.ContainsAny(b, ".eE") && (b[0] == '-' || b[0] >= '0' && b[0] <= '9'):
		return fmt.Errorf("snowflake: id in JSON: %.40s is not written as an integer: write ids as strings", b)
	}
	return id.UnmarshalText(b)
}

// Scan reads a BIGINT column, or a text column in base 10. NULL is an error: scan a nullable
// column into *ID or sql.Null[ID].
func (id *ID) Scan(src any) error {
	switch v := src.(type) {
	case int64:
		if v < 0 {
			return fmt.Errorf("snowflake: scan id: %d is negative", v)
		}
		*id = ID(v)
	case uint64:
		if v > math.MaxInt64 {
			return fmt.Errorf("snowflake: scan id: %d is above 2^63-1", v)
		}
		*id = ID(v)
	case []byte:
		return id.UnmarshalText(v)
	case string:
		return id.UnmarshalText([]byte(v))
	case *ID: // the code that Ent generates for bulks passes on the key of a row
		return id.Scan(int64(*v))
	case nil:
		return errors.New("snowflake: scan id: the column is NULL: scan into *ID or sql.Null[ID]")
	default:
		return fmt.Errorf("snowflake: scan id: cannot read an id from a %T: use a BIGINT or a string", src)
	}
	return nil
}

// Value returns id as an int64.
func (id ID) Value() (driver.Value, error) { return int64(id), nil }

// GormDataType makes a GORM column of this type a BIGINT in every dialect. Without it,
// GORM would make a primary key of this type AUTO_INCREMENT.
func (ID) GormDataType() string { return "bigint" }
