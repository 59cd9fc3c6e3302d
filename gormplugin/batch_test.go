package gormplugin_test

import (
	"context"
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
	refused := func(rows, model any) *gorm.DB {
		t.Helper()
		db := openSQLite(t, gormplugin.New(&counter{last: 4}, gormplugin.Config{Convert: convert}), &Plain{}, &Text{}, &Base36{}, &PointerBased{})
		require.ErrorIs(t, db.Model(model).Create(rows).Error, gorm.ErrDuplicatedKey)
		return db
	}

	rows := []Plain{{ID: 5, Name: "given"}, {Name: "new"}}
	db := refused(&rows, &Plain{})
	require.Equal(t, []Plain{{ID: 5, Name: "given"}, {Name: "new"}}, rows)
	require.NoError(t, db.Create(&rows).Error)
	require.Equal(t, []Plain{{ID: 5, Name: "given"}, {ID: 6, Name: "new"}}, rows)

	after := []*Plain{{}, {ID: 5}, {}, {ID: 5}}
	refused(after, &Plain{})
	require.Equal(t, []any{int64(0), int64(5), int64(0), int64(5)}, ids(after, plainPointerID))

	texts, base36 := [2]Text{{ID: "5"}, {}}, []Base36{{}, {ID: "5"}}
	refused(&texts, &Text{})
	require.Equal(t, [2]Text{{ID: "5"}, {}}, texts)
	refused(&base36, &Base36{})
	require.Equal(t, []Base36{{}, {ID: "5"}}, base36)

	embedded := []*PointerBased{{Base: &Base{5}}, {}}
	refused(embedded, &PointerBased{})
	require.EqualValues(t, 5, embedded[0].ID)
	require.Zero(t, embedded[1].ID)

	maps := []map[string]any{{"ID": 5}, {"name": "new"}}
	refused(&maps, &Plain{})
	require.Equal(t, []map[string]any{{"ID": 5}, {"name": "new"}}, maps)

	// One that is listed twice stays one row, beside one that took the number.
	text, given := &Text{}, &Text{ID: "5"}
	refused([]*Text{text, text, given, given}, &Text{})
	require.Equal(t, []Text{{}, {ID: "5"}}, []Text{*text, *given})
	plain, plainGiven := &Plain{}, &Plain{ID: 5}
	list := []*Plain{plainGiven, plain, plainGiven, plain}
	refused(list, &Plain{})
	require.Equal(t, []any{int64(5), int64(0), int64(5), int64(0)}, ids(list, plainPointerID))
}
