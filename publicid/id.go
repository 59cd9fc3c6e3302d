package publicid

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/snowlease/snowlease/snowflake"
)

// A Kind is the type that an ID identifies, such as an application's type Order. Its method
// returns the Codec of the kind, and is called on the zero value:
//
//	func (Order) Codec() *publicid.Codec { return orderIDs }
//
// A kind must be neither a pointer nor an interface.
type Kind interface{ Codec() *Codec }

// ID is an int64 that is written as a public id of its kind K, so an ID[Order] cannot be taken
// for an ID[Customer].
//
// It is a public id in JSON, in flags (flag.TextVar), in slog, with %v and wherever
// encoding.TextMarshaler is used. In a database it is a BIGINT, and package gormplugin fills
// it. Convert it to an int64 to get the number, which %d prints too.
//
// The zero ID means "none yet". It is written as "", and as null in JSON. Reading "" is an
// error, so a missing parameter is never taken for an id.
type ID[K Kind] int64

// Parse returns the id of a public id. It fails with a *ParseError, or with ErrCodec if the
// kind has no Codec:
//
//	id, err := publicid.Parse[Order](r.PathValue("id"))
func Parse[K Kind](text string) (ID[K], error) {
	id, err := codecOf[K]().Decode(text)
	return ID[K](id), err
}

// codecOf returns the Codec of a kind, or nil if there is none. The method of a nil pointer
// or interface would panic.
func codecOf[K Kind]() *Codec {
	switch reflect.TypeFor[K]().Kind() {
	case reflect.Pointer, reflect.Interface:
		return nil
	}
	var kind K
	return kind.Codec()
}

// String returns the public id of id, or "" if id is zero. If id cannot be encoded, it returns
// the error in parentheses.
func (id ID[K]) String() string {
	if id == 0 {
		return ""
	}
	text, err := codecOf[K]().Encode(int64(id))
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return text
}

// AppendText appends the public id of id to b, or nothing if id is zero. Errors are those of
// Codec.Encode.
func (id ID[K]) AppendText(b []byte) ([]byte, error) {
	if id == 0 {
		return b, nil
	}
	return codecOf[K]().AppendEncode(b, int64(id))
}

// MarshalText returns the public id of id, or "" if id is zero. Errors are those of
// Codec.Encode.
func (id ID[K]) MarshalText() ([]byte, error) { return id.AppendText([]byte{}) }

// UnmarshalText decodes the output of MarshalText, except for "". Errors are those of Parse.
func (id *ID[K]) UnmarshalText(text []byte) error {
	parsed, err := Parse[K](string(text))
	if err == nil {
		*id = parsed
	}
	return err
}

// MarshalBinary is MarshalText for go-redis. Package gob uses it too.
func (id ID[K]) MarshalBinary() ([]byte, error) { return id.MarshalText() }

// UnmarshalBinary decodes the output of MarshalBinary, including "", which is zero.
func (id *ID[K]) UnmarshalBinary(text []byte) error {
	if len(text) == 0 {
		*id = 0
		return nil
	}
	return id.UnmarshalText(text)
}

// UnmarshalParam is UnmarshalText for the bindings of gin and echo. Without it, gin would read
// a plain number.
func (id *ID[K]) UnmarshalParam(text string) error { return id.UnmarshalText([]byte(text)) }

// MarshalJSON returns the public id of id as a JSON string, or null if id is zero.
func (id ID[K]) MarshalJSON() ([]byte, error) {
	if id == 0 {
		return []byte("null"), nil
	}
	b, err := codecOf[K]().AppendEncode(append(make([]byte, 0, maxPrefix+1+sealDigits+2), '"'), int64(id))
	if err != nil {
		return nil, err
	}
	return append(b, '"'), nil
}

// UnmarshalJSON decodes a string that MarshalJSON returned. It does not change id for null. A
// number is an error.
func (id *ID[K]) UnmarshalJSON(b []byte) error {
	switch n := len(b); {
	case string(b) == "null":
		return nil
	case n > 1 && b[0] == '"' && b[n-1] == '"' && bytes.IndexByte(b, '\\') < 0:
		return id.UnmarshalText(b[1 : n-1])
	}
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return fmt.Errorf("publicid: id in JSON: %w", err)
	}
	return id.UnmarshalText([]byte(text))
}

// Scan reads a BIGINT column, or its decimal digits, which some drivers return, like
// snowflake.ID. It does not decode public ids. NULL is an error: scan a nullable column into *ID
// or sql.Null[ID].
func (id *ID[K]) Scan(src any) error {
	var n snowflake.ID
	err := n.Scan(src)
	if err == nil {
		*id = ID[K](n)
	}
	return err
}

// Value returns id as an int64.
func (id ID[K]) Value() (driver.Value, error) { return int64(id), nil }

// GormDataType returns the column type for GORM: BIGINT in every dialect. Without this method,
// GORM would make a primary key of this type AUTO_INCREMENT.
func (ID[K]) GormDataType() string { return "bigint" }
