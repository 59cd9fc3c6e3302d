package snowflake

import (
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ID is an int64 with JSON, text and SQL encodings.
//
// In JSON it is a string, because a JavaScript number holds only 53 bits. In a database
// it is a BIGINT. Its text forms are the bare digits in base 10, 36, 58 or 62. Parsing
// is strict, so each id has exactly one text in each base: no sign, spaces or leading
// zeros, no other case, and nothing above 2^63-1.
//
// The zero ID means "none yet" and is encoded like any other. A negative ID is invalid:
// it can be written, but not read back.
//
// In GORM a field of this type is a BIGINT. Unlike an int64, it is not AUTO_INCREMENT
// as a primary key.
type ID int64

// The digits of each base, from 0 up. Base 36 is lower case as in strconv, base 58 is
// the Bitcoin alphabet, and base 62 is in ASCII order.
const (
	digits10 = "0123456789"
	digits36 = "0123456789abcdefghijklmnopqrstuvwxyz"
	digits58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	digits62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

func digitsOf(base int) (string, error) {
	switch base {
	case 10:
		return digits10, nil
	case 36:
		return digits36, nil
	case 58:
		return digits58, nil
	case 62:
		return digits62, nil
	}
	return "", fmt.Errorf("snowflake: base %d is unknown: choose 10, 36, 58 or 62", base)
}

// ParseID parses an id in base 10, 36, 58 or 62. Parsing is strict: see ID.
func ParseID(s string, base int) (ID, error) {
	digits, err := digitsOf(base)
	if err != nil {
		return 0, err
	}
	fault := func(why string) (ID, error) {
		const show = 40 // s may be untrusted input of any length
		if len(s) > show {
			return 0, fmt.Errorf("snowflake: parse id %q... (%d bytes) in base %d: %s", s[:show], len(s), base, why)
		}
		return 0, fmt.Errorf("snowflake: parse id %q in base %d: %s", s, base, why)
	}
	if s == "" {
		return fault("it is empty")
	}
	var id int64
	for i := range len(s) {
		d := strings.IndexByte(digits, s[i])
		switch {
		case d < 0 && i == 0 && s[i] == '-':
			return fault("an id is not negative")
		case d < 0:
			return fault(fmt.Sprintf("character %q at %d is not one of %s", s[i], i, digits))
		case id > (math.MaxInt64-int64(d))/int64(base):
			return fault("it is above 2^63-1")
		}
		id = id*int64(base) + int64(d)
	}
	if len(s) > 1 && s[0] == digits[0] {
		return fault(fmt.Sprintf("it has a leading %q; remove it", digits[0]))
	}
	return ID(id), nil
}

// Format returns id in base 10, 36, 58 or 62. It fails for any other base.
func (id ID) Format(base int) (string, error) {
	digits, err := digitsOf(base)
	if err != nil {
		return "", err
	}
	return id.text(digits), nil
}

// String returns id in base 10.
func (id ID) String() string { return strconv.FormatInt(int64(id), 10) }

// Base36 returns id in base 36, 0-9a-z: at most 13 characters.
func (id ID) Base36() string { return id.text(digits36) }

// Base58 returns id in base 58 with the Bitcoin alphabet, which lacks 0, O, I and l: at
// most 11 characters.
func (id ID) Base58() string { return id.text(digits58) }

// Base62 returns id in base 62, 0-9A-Za-z: at most 11 characters.
func (id ID) Base62() string { return id.text(digits62) }

func (id ID) text(digits string) string {
	var buf [20]byte // the longest text is -9223372036854775808
	u, base, i := uint64(id), uint64(len(digits)), len(buf)
	if id < 0 {
		u = -u
	}
	for {
		i--
		buf[i] = digits[u%base]
		if u /= base; u == 0 {
			break
		}
	}
	if id < 0 {
		i--
		buf[i] = '-'
	}
	return string(buf[i:])
}

// MarshalText returns id in base 10, like String.
func (id ID) MarshalText() ([]byte, error) { return strconv.AppendInt(nil, int64(id), 10), nil }

// UnmarshalText parses id in base 10, strictly: see ID.
func (id *ID) UnmarshalText(b []byte) error {
	parsed, err := ParseID(string(b), 10)
	if err == nil {
		*id = parsed
	}
	return err
}

// MarshalJSON returns id as a JSON string in base 10.
func (id ID) MarshalJSON() ([]byte, error) {
	return append(strconv.AppendInt([]byte{'"'}, int64(id), 10), '"'), nil
}

// UnmarshalJSON parses a JSON string or an integer in base 10. On null, id stays
// unchanged. A fraction or an exponent is an error, because whatever wrote it has most
// likely rounded the id.
func (id *ID) UnmarshalJSON(b []byte) error {
	s := string(b)
	switch {
	case s == "null":
		return nil
	case s != "" && s[0] == '"':
		if err := json.Unmarshal(b, &s); err != nil {
			return fmt.Errorf("snowflake: id in JSON: %w", err)
		}
	case strings.ContainsAny(s, ".eE") && (s[0] == '-' || s[0] >= '0' && s[0] <= '9'):
		return fmt.Errorf("snowflake: id in JSON: %.40s is not written as an integer: write ids as strings", s)
	}
	return id.UnmarshalText([]byte(s))
}

// Scan reads a BIGINT column, or a text column in base 10. NULL is an error; scan a
// nullable column into *ID or sql.Null[ID].
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
	case ID: // Ent passes keys on as it got them
		return id.Scan(int64(v))
	case *ID:
		if v == nil {
			return id.Scan(nil)
		}
		return id.Scan(int64(*v))
	case nil:
		return errors.New("snowflake: scan id: the column is NULL: scan into *ID or sql.Null[ID]")
	default:
		return fmt.Errorf("snowflake: scan id: cannot read an id from a column of %T: use BIGINT", src)
	}
	return nil
}

// Value returns id as an int64.
func (id ID) Value() (driver.Value, error) { return int64(id), nil }

// GormDataType makes a GORM column of this type a BIGINT in every dialect. Without it,
// GORM would make a primary key of this type AUTO_INCREMENT.
func (ID) GormDataType() string { return "bigint" }
