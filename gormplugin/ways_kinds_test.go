package gormplugin_test

import (
	"database/sql"

	"github.com/stretchr/testify/require"
	"gorm.io/driver/mysql"

	"github.com/snowlease/snowlease/gormplugin"
)

func kinds() []way {
	return []way{
		creates("int", &Int{}),
		creates("uint", &Uint{}),
		creates("type of int64", &Typed{}),
		creates("type of uint64", make([]TypedU, 2)),
		creates("snowflake.ID", make([]Snow, 2)),
		creates("string", make([]Text, 2)),
		creates("string in base 36, by Convert", make([]Base36, 2)),
		creates("string in base 62, by Convert", make([]Base62, 200)),
		creates("bytes, by Convert", make([]Bytes, 2)),
		creates("text in a column of numbers", []TextNumber{{}, {ID: "00"}, {ID: "8"}}, 8),
		creates("default 0", make([]DefaultZero, 2)),
		creates("pointer", []Pointed{{}, {ID: new(int64)}}),
		creates("sql.NullInt64", []Null{{}, {ID: sql.NullInt64{Int64: 8, Valid: true}}, {ID: sql.NullInt64{Valid: true}}}, 8),
		creates("pointer to sql.Null", &NullPointed{}),
		creates("embedded with a prefix", make([]Prefixed, 2)),
		creates("embedded pointer", []PointerBased{{}, {Base: &Base{ID: 6}}, {Base: &Base{}}}, 6),
		creates("embedded twice, with a prefix", []Nested{{}, {Outer: NamedBase{&Base{ID: 6}}}}, 6),
		creates("through a serializer", make([]SerializedKey, 2)),
		creates("publicid.ID", make([]PublicOrder, 2)),
		creates("pointer to publicid.ID", &PublicPointed{}),
		creates("publicid.ID in a composite key", []PublicLine{{OrderID: 5}, {OrderID: 5}}),
		{"snowflake.ID and publicid.ID: columns of BIGINT", func(c cell) {
			types, err := c.db.Migrator().ColumnTypes(&PublicOrder{})
			require.NoError(c, err)
			more, err := c.db.Migrator().ColumnTypes(&Snow{})
			require.NoError(c, err)
			for _, typ := range append(types, more...) {
				require.Contains(c, []string{"bigint", "int8"}, typ.DatabaseTypeName(), typ.Name())
				increments, _ := typ.AutoIncrement()
				require.False(c, increments)
			}
		}},
		{"column of another name", func(c cell) {
			row, m := Column{}, map[string]any{}
			require.NoError(c, c.db.Create(&row).Error)
			require.NoError(c, c.db.Model(&Column{}).Create(m).Error)
			c.filled("columns", "order_no", row.Key, m["order_no"])
		}},
		{"composite key", func(c cell) {
			rows := []Composite{{Tenant: 1}, {}, {Tenant: 1, ID: 5}}
			c.stored(c.db.Create(&rows).Error, rows, 5)
			c.holds("composites", "tenant", 1, 0, 1)
		}},
		{"composite key, the field chosen by its tag", func(c cell) {
			rows := []Chosen{{Tenant: 1}, {}}
			require.NoError(c, c.db.Create(&rows).Error)
			c.filled("chosens", "no", rows[0].No, rows[1].No)
			c.holds("chosens", "tenant", 1, 0)
		}},
		{"a column that is declared too small", func(c cell) {
			db := c.db
			if d, ok := c.dialector().(*mysql.Dialector); ok { // which stores 2147483647 in this mode
				db = open(c, mysql.Open(d.DSN+"&sql_mode=''"), gormplugin.New(newGenerator(c), gormplugin.Config{Convert: convert}))
			}
			number, text, mixed, base36 := Declared{}, DeclaredText{}, DeclaredNumber{}, DeclaredBase36{}
			errs := []error{db.Create(&number).Error, db.Create(&text).Error, db.Create(&mixed).Error, db.Create(&base36).Error}
			if db.Name() == "sqlite" {
				require.Equal(c, make([]error, 4), errs)
				c.stored(nil, number)
				c.stored(nil, text)
				c.stored(nil, mixed)
				c.holds("declared_base36", "id", base36.ID)
				return
			}
			for i, says := range []string{"its column integer holds 2147483647 at most", "16 characters", "holds 9999999999999999 at most", "6 characters"} {
				require.ErrorIs(c, errs[i], gormplugin.ErrKey)
				require.ErrorContains(c, errs[i], says)
			}
			for _, table := range []string{"declareds", "declared_texts", "declared_numbers", "declared_base36"} {
				c.holds(table, "id")
			}
			require.Zero(c, number.ID)
			require.NoError(c, db.Create(&Declared{ID: 7}).Error)
		}},
	}
}
