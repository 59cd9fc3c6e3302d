package gormplugin_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowlease/snowlease/gormplugin"
)

// Without ids, nothing is taken back: the text "0" is a key of the application.
func TestKeysStayWithoutIDs(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	var asked []int64
	source := generatorFunc(func(context.Context, []int64) error { return down })
	db := openSQLite(t, gormplugin.New(source, gormplugin.Config{Convert: func(f *schema.Field, id int64) (any, error) {
		asked = append(asked, id)
		return convert(f, id)
	}}), &Text{}, &Base36{})
	texts, base36, maps := []Text{{ID: "0"}, {}}, []Base36{{ID: "0"}, {}}, []map[string]any{{"id": "0"}, {"name": "new"}}
	require.ErrorIs(t, db.Create(&texts).Error, down)
	require.ErrorIs(t, db.Create(&base36).Error, down)
	require.ErrorIs(t, db.Model(&Text{}).Create(&maps).Error, down)
	require.Equal(t, []Text{{ID: "0"}, {}}, texts)
	require.Equal(t, []Base36{{ID: "0"}, {}}, base36)
	require.Equal(t, []map[string]any{{"id": "0"}, {"name": "new"}}, maps)
	require.NotEmpty(t, asked)
	require.NotContains(t, asked, int64(0))
}

// A key of the application may equal a number that the statement took, as with a segment.
// The INSERT fails, and only the rows that got a number lose it.
func TestEqualKeysStay(t *testing.T) {
	t.Parallel()
	gen, five := &counter{}, sql.NullInt64{Int64: 5, Valid: true}
	db := openSQLite(t, gormplugin.New(gen, gormplugin.Config{Convert: convert}),
		&Plain{}, &Text{}, &Base36{}, &Bytes{}, &Pointed{}, &Null{}, &Prefixed{}, &PointerBased{}, &NamedBase{}, &Chosen{}, &TypedU{})
	for _, rows := range []func() any{
		func() any { return &[]Plain{{ID: 5, Name: "given"}, {Name: "new"}} },
		func() any { return []*Plain{{}, {ID: 5}, {}, {ID: 5}} },
		func() any { return &[2]Text{{ID: "5"}, {}} },
		func() any { return &[]Base36{{}, {ID: "5"}} },
		func() any { return &[]Bytes{{}, {ID: []byte("5")}} },
		func() any { return &[]Pointed{{}, {ID: &five.Int64}} },
		func() any { return &[]Null{{}, {ID: five}} },
		func() any { return &[]Prefixed{{}, {Base: Base{5}}} },
		func() any { return []*PointerBased{{Base: &Base{5}}, {Base: &Base{}}} },
		func() any { return []*NamedBase{{Base: &Base{5}}, {Base: &Base{}}} },
		func() any { return &[]Chosen{{Tenant: 1}, {Tenant: 1, No: 5}} },
		func() any { return []*TypedU{{}, {ID: 5}} },
		func() any { return &[]map[string]any{{"ID": 5}, {"name": "new"}} },
	} {
		gen.last = 4
		tx, refused := db, rows()
		if _, ok := refused.(*[]map[string]any); ok {
			tx = db.Model(&Plain{})
		}
		require.ErrorIs(t, tx.Create(refused).Error, gorm.ErrDuplicatedKey, "%T", refused)
		require.Equal(t, rows(), refused)
	}
	again := []Plain{{ID: 5, Name: "given"}, {Name: "new"}}
	require.NoError(t, db.Create(&again).Error)
	require.Equal(t, []Plain{{ID: 5, Name: "given"}, {ID: 6, Name: "new"}}, again)
}
