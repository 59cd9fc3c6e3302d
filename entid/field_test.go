package entid_test

import (
	"testing"

	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/entid"
	ids "github.com/snowlease/snowlease/entid/testdata/ids.v2"
	"github.com/snowlease/snowlease/publicid"
	"github.com/snowlease/snowlease/snowflake"
)

type order struct{}

func (order) Codec() *publicid.Codec { return nil }

func TestField(t *testing.T) {
	t.Parallel()
	d := entid.Field[publicid.ID[order]](field.Int64("order_id").Optional().Nillable().StorageKey("o")).Descriptor()
	require.NoError(t, d.Err)
	require.Equal(t, "kindentidtest.orderID", d.Info.String())
	require.Equal(t, "github.com/snowlease/snowlease/entid_test", d.Info.PkgPath)
	require.True(t, d.Info.ValueScanner())
	require.True(t, d.Optional && d.Nillable)
	require.Equal(t, "o", d.StorageKey)
	d = entid.Field[publicid.ID[ids.Kind]](field.Int64("a")).Descriptor()
	require.NoError(t, d.Err)
	require.Equal(t, "github.com/snowlease/snowlease/entid/testdata/ids.v2", d.Info.PkgPath)
	d = entid.Mixin[snowflake.ID]{}.Fields()[0].Descriptor()
	require.NoError(t, d.Err)
	require.Equal(t, "snowflake.ID", d.Info.String())
	require.True(t, d.Immutable)
}

func TestFieldRefuses(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]ent.Field{
		"entid: field a has the type string: pass a field.Int64":       entid.Field[snowflake.ID](field.String("a")),
		"entid: field a has the type snowflake.ID: pass a field.Int64": entid.Field[snowflake.ID](field.Int64("a").GoType(snowflake.ID(0))),
		"entid: field a is Optional, and Ent could not read its NULL":  entid.Field[snowflake.ID](field.Int64("a").Optional()),
		"entid: field a has a default or a validator":                  entid.Field[snowflake.ID](field.Int64("a").Positive()),
	} {
		require.ErrorContains(t, f.Descriptor().Err, want)
	}
	type kind struct{ order }
	require.ErrorContains(t, entid.Field[publicid.ID[kind]](field.Int64("a")).Descriptor().Err, "entid: field a: no other package can name the kind github.com/snowlease/snowlease/entid_test.kind")
}
