package gormplugin_test

import (
	"database/sql"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowlease/snowlease/gormplugin"
)

// TestWays lists what works and what GORM does not do. Each case writes in one way on
// each dialect, and a second connection checks the table afterwards.
//
//	go test -v -run TestWays ./gormplugin
func TestWays(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, _ string, dialector func() gorm.Dialector, other *sql.DB) {
		source := &noting{Source: newGenerator(t)}
		plugin := gormplugin.New(source, gormplugin.Config{Convert: convert})
		db := open(t, dialector(), plugin)
		require.NoError(t, db.SetupJoinTable(&Customer{}, "Tags", &CustomerTag{}))
		require.NoError(t, db.AutoMigrate(models()...))
		var tables []string
		for _, m := range models() {
			stmt := &gorm.Statement{DB: db}
			require.NoError(t, stmt.Parse(m))
			tables = append(tables, stmt.Table)
		}
		tables = append(tables, "pet_filled_vets")
		returning := slices.Contains(db.Callback().Create().Clauses, "RETURNING") // not on MySQL
		seq := new(atomic.Int64)
		for _, w := range ways() {
			t.Run(w.name, func(t *testing.T) {
				c := cell{t, db, other, dialector, returning, seq, source}
				c.empty(tables)
				w.write(c)
			})
		}
	})
}

type way struct {
	name  string
	write func(cell)
}

// creates is a way that inserts rows with Create. Some have the keys given.
func creates(name string, rows any, given ...any) way {
	return way{name, func(c cell) { c.stored(c.db.Create(rows).Error, rows, given...) }}
}

func autoID(a Auto) uint         { return a.ID }
func mapID(m map[string]any) any { return m["id"] }

func ways() []way {
	return slices.Concat(shapes(), finishers(), mapWays(), kinds(), sessions(), columns(), associations(), upserts(), found(), failures(), limits())
}

func shapes() []way {
	pointer := &Plain{}
	return []way{
		creates("struct", &Plain{}),
		creates("pointer to pointer", &pointer),
		creates("slice", &[]Plain{{}, {}, {}, {}, {}}),
		creates("slice by value", []Plain{{}, {}, {}}),
		creates("slice of pointers", []*Plain{{}, {}, {}}),
		creates("array", &[3]Plain{}),
		creates("array of pointers by value", [2]*Plain{{}, {}}),
		creates("ids that are set beside ids that are not", &[]Plain{{ID: 11}, {}, {ID: 12}, {}}, 11, 12),
		creates("AUTO_INCREMENT model, ids set and not", &[]Auto{{Name: "a"}, {Name: "b", Model: gorm.Model{ID: 5}}, {Name: "c"}}, 5),
		{"AUTO_INCREMENT model", func(c cell) {
			row := Auto{Name: c.name()}
			c.stored(c.db.Create(&row).Error, row)
			require.Equal(c, "new", row.Status)
		}},
		{"a pointer listed twice", func(c cell) {
			customer, text, pointed, base36, auto := &Customer{Orders: make([]Order, 1)}, &Text{}, &Pointed{}, &Base36{}, &Auto{}
			for _, rows := range []any{[]*Customer{customer, {}, customer}, []*Text{text, text}, []*Pointed{pointed, pointed}, [2]*Base36{base36, base36}, []*Auto{auto, auto}} {
				err := c.db.Create(rows).Error
				require.ErrorIs(c, err, gorm.ErrInvalidValue)
				require.ErrorContains(c, err, "lists the same pointer more than once")
			}
			require.Zero(c, customer.ID)
			require.Equal(c, []any{Text{}, Pointed{}, Base36{}, Auto{}}, []any{*text, *pointed, *base36, *auto})
		}},
		{"a pointer listed twice in an upsert is one row", func(c cell) {
			row, made := &Based{Name: c.name()}, &Made{Name: c.name()}
			rows := []*Based{row, {Name: c.name()}, row}
			tx := c.db.Clauses(clause.OnConflict{UpdateAll: true}).Create(rows)
			require.NoError(c, tx.Error)
			require.EqualValues(c, 2, tx.RowsAffected)
			c.stored(nil, rows[:2])
			c.stored(c.db.Clauses(clause.OnConflict{DoNothing: true}).Create([]*Made{made, made}).Error, made)
			require.Equal(c, c.returning, made.Origin == "database")
		}},
	}
}

func finishers() []way {
	return []way{
		{"CreateInBatches", func(c cell) {
			rows, autos := make([]Plain, 25), []*Auto{{Name: "a"}, {Name: "b"}, {Name: "c"}}
			c.stored(c.db.CreateInBatches(&rows, 10).Error, rows)
			c.stored(c.db.CreateInBatches(autos, 2).Error, autos)
		}},
		{"Save", func(c cell) {
			row := Based{Name: c.name()}
			c.stored(c.db.Save(&row).Error, row)
			id := row.ID
			row.Name = c.name()
			c.stored(c.db.Save(&row).Error, row)
			require.Equal(c, id, row.ID, "the second time, it updates")
		}},
		{"FirstOrCreate", func(c cell) {
			var row, again Based
			for _, into := range []*Based{&row, &again} {
				c.stored(c.db.Where(Based{Name: "a"}).FirstOrCreate(into).Error, into)
			}
			require.Equal(c, row.ID, again.ID)
		}},
		{"generics", func(c cell) {
			row, rows, based := Auto{Name: c.name()}, make([]Plain, 5), Based{}
			c.stored(gorm.G[Auto](c.db).Create(c.Context(), &row), row)
			c.stored(gorm.G[Plain](c.db).CreateInBatches(c.Context(), &rows, 2), rows)
			name := clause.Assignment{Column: clause.Column{Name: "name"}, Value: c.name()}
			require.NoError(c, gorm.G[Based](c.db).Set(name).Create(c.Context()))
			c.stored(c.db.Take(&based).Error, based)
		}},
		{"a value of another type with the fields of the model", func(c cell) {
			type Form Plain
			type Other struct{ Name string }
			form, forms, autos := Form{Name: c.name()}, []*Form{{}, {}}, []struct {
				gorm.Model
				Name, Status string
			}{{Name: c.name()}}
			require.NoError(c, c.db.Model(&Plain{}).Create(&form).Error)
			require.NoError(c, c.db.Model(&Plain{}).Create(forms).Error)
			require.NoError(c, c.db.Model(&Auto{}).Clauses(clause.OnConflict{DoNothing: true}).Create(&autos).Error)
			c.filled("plains", "id", form.ID, forms[0].ID, forms[1].ID)
			c.filled("autos", "id", autos[0].ID)
			more := struct {
				ID          int64
				Name, Extra string
			}{}
			require.NoError(c, c.db.Model(&Plain{}).Create(&more).Error)
			require.NoError(c, c.db.Delete(&Plain{}, more.ID).Error)
			other, narrow := Other{Name: c.name()}, struct{ ID int32 }{}
			require.ErrorIs(c, c.db.Model(&Plain{}).Create(&narrow).Error, gorm.ErrInvalidValue)
			require.ErrorIs(c, c.db.Model(&Plain{}).Create(&other).Error, gorm.ErrInvalidValue)
			require.ErrorContains(c, c.db.Model(&Plain{}).Create([]Other{other}).Error, "gormplugin_test.Other")
			swapped := struct {
				ID          int64
				Extra, Name string
			}{Name: c.name()}
			require.ErrorContains(c, c.db.Model(&Plain{}).Create(&swapped).Error, "whose field 1 is not the Name string of the model")
			c.filled("plains", "id", form.ID, forms[0].ID, forms[1].ID)
		}},
		{"tables of one model", func(c cell) {
			var rows [2]Plain
			maps := []map[string]any{{"name": "a"}, {"name": "b"}}
			require.NoError(c, c.db.Table("ints").Create(&rows[0]).Error)
			require.NoError(c, c.db.Scopes(func(tx *gorm.DB) *gorm.DB { return tx.Table("typeds") }).Create(&rows[1]).Error)
			require.NoError(c, c.db.Table("uints").Model(&Plain{}).Create(maps).Error)
			c.filled("ints", "id", rows[0].ID)
			c.filled("typeds", "id", rows[1].ID)
			c.filled("uints", "id", ids(maps, mapID)...)
			c.holds("plains", "id")
		}},
	}
}
