package gormplugin_test

import (
	"database/sql"

	"github.com/stretchr/testify/require"
	"gorm.io/driver/mysql"

	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/snowflake"
)

func kinds() []way {
	return []way{
		{"int", func(c cell) {
			row := Int{}
			require.NoError(c, c.db.Create(&row).Error)
			c.filled("ints", "id", row.ID)
		}},
		{"uint", func(c cell) {
			row := Uint{}
			require.NoError(c, c.db.Create(&row).Error)
			c.filled("uints", "id", row.ID)
		}},
		{"uint64", func(c cell) {
			rows := make([]Uint64, 2)
			require.NoError(c, c.db.Create(&rows).Error)
			c.filled("uint64", "id", rows[0].ID, rows[1].ID)
		}},
		{"type of int64", func(c cell) {
			row := Typed{}
			require.NoError(c, c.db.Create(&row).Error)
			c.filled("typeds", "id", row.ID)
		}},
		{"type of uint64", func(c cell) {
			rows := make([]TypedU, 2)
			require.NoError(c, c.db.Create(&rows).Error)
			c.filled("typed_us", "id", rows[0].ID, rows[1].ID)
		}},
		{"snowflake.ID", func(c cell) {
			rows := make([]Snow, 2)
			require.NoError(c, c.db.Create(&rows).Error)
			c.filled("snows", "id", rows[0].ID, rows[1].ID)
		}},
		{"string", func(c cell) {
			rows := make([]Text, 2)
			require.NoError(c, c.db.Create(&rows).Error)
			c.filled("texts", "id", rows[0].ID, rows[1].ID)
		}},
		{"string in base 36, by Convert", func(c cell) {
			rows := make([]Base36, 2)
			require.NoError(c, c.db.Create(&rows).Error)
			c.holds("base36", "id", rows[0].ID, rows[1].ID)
			require.NotEqual(c, rows[0].ID, rows[1].ID)
		}},
		{"string in base 62, by Convert", func(c cell) {
			rows := make([]Base62, 200)
			require.NoError(c, c.db.Create(&rows).Error)
			c.holds("base62", "id", ids(rows, func(b Base62) CaseText { return b.ID })...)
			c.issued(ids(rows, func(b Base62) any {
				id, err := snowflake.ParseID(string(b.ID), 62)
				require.NoError(c, err)
				return id
			})...)
		}},
		{"bytes, by Convert", func(c cell) {
			rows := make([]Bytes, 2)
			require.NoError(c, c.db.Create(&rows).Error)
			c.filled("bytes", "id", string(rows[0].ID), string(rows[1].ID))
		}},
		{"pointer", func(c cell) {
			rows := make([]Pointed, 2)
			require.NoError(c, c.db.Create(&rows).Error)
			c.filled("pointeds", "id", *rows[0].ID, *rows[1].ID)
		}},
		{"sql.NullInt64", func(c cell) {
			rows := []Null{{}, {ID: sql.NullInt64{Int64: 8, Valid: true}}}
			require.NoError(c, c.db.Create(&rows).Error)
			c.issued(rows[0].ID.Int64)
			c.holds("nulls", "id", rows[0].ID.Int64, 8)
		}},
		{"pointer to sql.Null", func(c cell) {
			row := NullPointed{}
			require.NoError(c, c.db.Create(&row).Error)
			c.filled("null_pointeds", "id", row.ID.V)
		}},
		{"column of another name", func(c cell) {
			row := Column{}
			require.NoError(c, c.db.Create(&row).Error)
			m := map[string]any{}
			require.NoError(c, c.db.Model(&Column{}).Create(m).Error)
			c.filled("columns", "order_no", row.Key, m["order_no"])
		}},
		{"embedded with a prefix", func(c cell) {
			rows := make([]Prefixed, 2)
			require.NoError(c, c.db.Create(&rows).Error)
			c.filled("prefixeds", "x_id", rows[0].ID, rows[1].ID)
		}},
		{"embedded pointer", func(c cell) {
			rows := []PointerBased{{}, {Base: &Base{ID: 6}}, {Base: &Base{}}}
			require.NoError(c, c.db.Create(&rows).Error)
			c.issued(rows[0].ID, rows[2].ID)
			c.holds("pointer_baseds", "id", rows[0].ID, 6, rows[2].ID)
		}},
		{"embedded pointer with a name and a prefix", func(c cell) {
			rows := []NamedBase{{}, {Base: &Base{ID: 6}}, {Base: &Base{}}}
			require.NoError(c, c.db.Create(&rows).Error)
			c.issued(rows[0].Base.ID, rows[2].Base.ID)
			c.holds("named_bases", "y_id", rows[0].Base.ID, 6, rows[2].Base.ID)
		}},
		{"embedded twice, with prefixes", func(c cell) {
			rows := make([]Nested, 2)
			require.NoError(c, c.db.Create(&rows).Error)
			c.filled("nesteds", "a_b_id", rows[0].Outer.ID, rows[1].Outer.ID)
		}},
		{"through a serializer", func(c cell) {
			rows := make([]SerializedKey, 2)
			require.NoError(c, c.db.Create(&rows).Error)
			c.filled("serialized_keys", "id", rows[0].ID, rows[1].ID)
		}},
		{"composite key", func(c cell) {
			rows := []Composite{{Tenant: 1}, {}, {Tenant: 1, ID: 5}}
			require.NoError(c, c.db.Create(&rows).Error)
			c.issued(rows[0].ID, rows[1].ID)
			c.holds("composites", "id", rows[0].ID, rows[1].ID, 5)
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
				c.filled("declareds", "id", number.ID)
				c.filled("declared_texts", "id", text.ID)
				c.filled("declared_numbers", "id", mixed.ID)
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
