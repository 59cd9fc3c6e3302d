package entid

import (
	"database/sql/driver"
	"fmt"
	"go/token"
	"net/url"
	"path"
	"strings"
	"unicode"

	"entgo.io/ent"
	"entgo.io/ent/dialect"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/mixin"
)

// key is snowflake.ID or a publicid.ID.
type key interface {
	~int64
	driver.Valuer
}

// Mixin gives a schema the field id of type T, which is snowflake.ID or a publicid.ID. In the
// database, id is a BIGINT without automatic numbering: the database refuses a row without an
// id.
type Mixin[T key] struct{ mixin.Schema }

// Fields returns the field.
func (Mixin[T]) Fields() []ent.Field {
	return []ent.Field{Field[T](field.Int64("id").Immutable())}
}

// Field gives the type T to a field.Int64, such as the field of an edge to an entity with a
// Mixin. The field must have neither a default nor a validator, and Nillable if it is Optional:
//
//	entid.Field[ids.CustomerID](field.Int64("customer_id").Optional().Nillable())
func Field[T key](f ent.Field) ent.Field {
	d := f.Descriptor()
	if d.Err == nil {
		d.Err = retype(d, field.Other(d.Name, *new(T)).Descriptor().Info)
	}
	return f
}

// retype gives the field d the type info, which Ent does not regard as numeric. For numeric
// ids, Ent uses LAST_INSERT_ID of MySQL in place of the ids that it has sent.
func retype(d *field.Descriptor, info *field.TypeInfo) error {
	switch {
	case d.Info.Type != field.TypeInt64 || d.Info.RType != nil:
		return fmt.Errorf("entid: field %s has the type %s: pass a field.Int64 without a GoType", d.Name, d.Info)
	case d.Default != nil || d.UpdateDefault != nil || len(d.Validators) > 0:
		return fmt.Errorf("entid: field %s has a default or a validator for an int64: remove it", d.Name)
	case d.Optional && !d.Nillable:
		return fmt.Errorf("entid: field %s is Optional, and Ent could not read its NULL: add Nillable()", d.Name)
	}
	if err := nameKind(info); err != nil {
		return fmt.Errorf("entid: field %s: %w", d.Name, err)
	}
	d.Info = info
	if d.SchemaType == nil {
		d.SchemaType = map[string]string{dialect.MySQL: "bigint", dialect.Postgres: "bigint", dialect.SQLite: "bigint"}
	}
	return nil
}

// nameKind names the type publicid.ID[ids.Order] ids.OrderID. Ent would otherwise print
// reflect's name, which contains the path of the kind and does not compile.
func nameKind(info *field.TypeInfo) error {
	_, kind, generic := strings.Cut(info.RType.Name, "[")
	if !generic {
		return nil
	}
	kind = strings.TrimSuffix(kind, "]")
	dot := strings.LastIndexByte(kind, '.')
	if dot < 0 || !token.IsIdentifier(kind[dot+1:]) || kind[:dot] == "main" {
		return fmt.Errorf("no other package can name the kind %s: declare it as a type of a package that is not main", kind)
	}
	info.PkgPath, _ = url.PathUnescape(kind[:dot]) // package reflect escapes dots after the last slash of a path
	// The package name alone, such as ids, could collide with a variable in Ent's code.
	info.PkgName = "kind" + strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, path.Base(info.PkgPath))
	info.Ident = info.PkgName + kind[dot:] + "ID"
	info.RType.Ident, info.RType.PkgPath = info.Ident, info.PkgPath
	return nil
}
