package gormplugin_test

import (
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
	for _, d := range dialects() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			dialector, other := d.open(t)
			source := &noting{Source: newGenerator(t)}
			plugin := gormplugin.New(source, gormplugin.Config{Convert: convert})
			db := open(t, dialector(), plugin)
			require.NoError(t, db.SetupJoinTable(&Customer{}, "Tags", &CustomerTag{}))
			require.NoError(t, db.AutoMigrate(models()...))
			returning := slices.Contains(db.Callback().Create().Clauses, "RETURNING") // not on MySQL
			seq := new(atomic.Int64)
			for _, w := range ways() {
				t.Run(w.name, func(t *testing.T) {
					for _, table := range joinTables() {
						require.NoError(t, db.Exec("DELETE FROM "+table).Error)
					}
					for _, m := range slices.Backward(models()) {
						require.NoError(t, db.Session(&gorm.Session{AllowGlobalUpdate: true}).Unscoped().Delete(m).Error)
					}
					w.write(cell{t, db, other, dialector, returning, seq, source})
				})
			}
		})
	}
}

type way struct {
	name  string
	write func(cell)
}

func plainID(p Plain) int64         { return p.ID }
func plainPointerID(p *Plain) int64 { return p.ID }
func autoID(a Auto) uint            { return a.ID }
func mapID(m map[string]any) any    { return m["id"] }

func ways() []way {
	var all []way
	for _, group := range [][]way{shapes(), finishers(), mapWays(), kinds(), publicIDs(), sessions(), columns(), associations(), upserts(), found(), failures(), limits()} {
		all = append(all, group...)
	}
	return all
}

func shapes() []way {
	return []way{
		{"struct", func(c cell) {
			row := Plain{Name: c.name()}
			require.NoError(c, c.db.Create(&row).Error)
			c.filled("plains", "id", row.ID)
		}},
		{"pointer to pointer", func(c cell) {
			row := &Plain{Name: c.name()}
			require.NoError(c, c.db.Create(&row).Error)
			c.filled("plains", "id", row.ID)
		}},
		{"slice", func(c cell) {
			rows := make([]Plain, 5)
			require.NoError(c, c.db.Create(&rows).Error)
			c.filled("plains", "id", ids(rows, plainID)...)
			for i := 1; i < len(rows); i++ {
				require.Greater(c, rows[i].ID, rows[i-1].ID)
			}
		}},
		{"slice by value", func(c cell) {
			rows := make([]Plain, 3)
			require.NoError(c, c.db.Create(rows).Error)
			c.filled("plains", "id", ids(rows, plainID)...)
		}},
		{"slice of pointers", func(c cell) {
			rows := []*Plain{{}, {}, {}}
			require.NoError(c, c.db.Create(rows).Error)
			c.filled("plains", "id", ids(rows, plainPointerID)...)
		}},
		{"a pointer listed twice", func(c cell) {
			c.alike(
				func(db *gorm.DB) any {
					wallet := &Wallet{}
					tx := db.Create([]*Wallet{wallet, {}, wallet})
					require.NoError(c, tx.Error)
					return c.counts(tx.RowsAffected, "wallets")
				},
				func(db *gorm.DB) any {
					customer := &Customer{Orders: make([]Order, 1)}
					rows := []*Customer{customer, {}, customer}
					tx := db.Create(rows)
					require.NoError(c, tx.Error)
					require.Same(c, customer, rows[0])
					c.holds("orders", "customer_id", customer.ID) // GORM alone stores the order twice
					c.issued(customer.ID, rows[1].ID)
					require.NoError(c, db.Exec("DELETE FROM orders").Error)
					return c.counts(tx.RowsAffected, "customers")
				})
		}},
		{"a pointer listed twice that has a key", func(c cell) {
			row := &Plain{ID: 5}
			require.ErrorIs(c, c.db.Create([]*Plain{row, row}).Error, gorm.ErrDuplicatedKey)
			require.ErrorIs(c, c.db.Create([]*Plain{{}, row, row}).Error, gorm.ErrDuplicatedKey)
			c.holds("plains", "id")
		}},
		{"a pointer listed twice, keys of other kinds", func(c cell) {
			text, pointed, base36, null := &Text{}, &Pointed{}, &Base36{}, &Null{}
			require.NoError(c, c.db.Create([]*Text{text, text}).Error)
			require.NoError(c, c.db.Create([]*Pointed{pointed, pointed}).Error)
			require.NoError(c, c.db.Create([2]*Base36{base36, base36}).Error)
			require.NoError(c, c.db.Create([]*Null{null, null}).Error)
			require.NoError(c, c.db.Take(&Text{}, "id = ?", text.ID).Error)
			require.NoError(c, c.db.Take(&Pointed{}, "id = ?", pointed.ID).Error)
			require.Equal(c, "2 affected, stored [2 2 2 2]", c.counts(2, "texts", "pointeds", "base36", "nulls"))
		}},
		{"a pointer listed twice in an upsert is one row", func(c cell) {
			row, made := &Based{Name: c.name()}, &Made{Name: c.name()}
			tx := c.db.Clauses(clause.OnConflict{UpdateAll: true}).Create([]*Based{row, {Name: c.name()}, row})
			require.NoError(c, tx.Error)
			require.Equal(c, "2 affected, stored [2]", c.counts(tx.RowsAffected, "baseds"))
			require.NoError(c, c.db.Clauses(clause.OnConflict{DoNothing: true}).Create([]*Made{made, made}).Error)
			c.filled("mades", "id", made.ID)
			require.Equal(c, c.returning, made.Origin == "database")
		}},
		{"array", func(c cell) {
			rows := [3]Plain{}
			require.NoError(c, c.db.Create(&rows).Error)
			c.filled("plains", "id", ids(rows[:], plainID)...)
		}},
		{"array of pointers by value", func(c cell) {
			rows := [2]*Plain{{}, {}}
			require.NoError(c, c.db.Create(rows).Error)
			c.filled("plains", "id", ids(rows[:], plainPointerID)...)
		}},
		{"ids that are set beside ids that are not", func(c cell) {
			rows := []Plain{{ID: 11}, {}, {ID: 12}, {}}
			require.NoError(c, c.db.Create(&rows).Error)
			require.EqualValues(c, 11, rows[0].ID)
			require.EqualValues(c, 12, rows[2].ID)
			c.issued(rows[1].ID, rows[3].ID)
			c.holds("plains", "id", ids(rows, plainID)...)
		}},
		{"AUTO_INCREMENT model", func(c cell) {
			rows := []Auto{{Name: c.name()}, {Name: c.name()}, {Name: c.name()}}
			require.NoError(c, c.db.Create(&rows).Error)
			c.filled("autos", "id", ids(rows, autoID)...)
			row := Auto{Name: c.name()}
			require.NoError(c, c.db.Create(&row).Error)
			c.holds("autos", "id", append(ids(rows, autoID), row.ID)...)
			require.Equal(c, "new", row.Status)
		}},
		{"AUTO_INCREMENT model, ids set and not", func(c cell) {
			rows := []Auto{{Name: c.name()}, {Name: c.name(), Model: gorm.Model{ID: 5}}, {Name: c.name()}}
			require.NoError(c, c.db.Create(&rows).Error)
			require.EqualValues(c, 5, rows[1].ID)
			c.issued(rows[0].ID, rows[2].ID)
			c.holds("autos", "id", ids(rows, autoID)...)
		}},
	}
}

func finishers() []way {
	return []way{
		{"CreateInBatches", func(c cell) {
			rows := make([]Plain, 25)
			require.NoError(c, c.db.CreateInBatches(&rows, 10).Error)
			c.filled("plains", "id", ids(rows, plainID)...)
		}},
		{"CreateInBatches of pointers, AUTO_INCREMENT", func(c cell) {
			rows := []*Auto{{Name: c.name()}, {Name: c.name()}, {Name: c.name()}}
			require.NoError(c, c.db.CreateInBatches(rows, 2).Error)
			c.filled("autos", "id", ids(rows, func(a *Auto) uint { return a.ID })...)
		}},
		{"CreateBatchSize", func(c cell) {
			rows := make([]Plain, 5)
			require.NoError(c, c.db.Session(&gorm.Session{CreateBatchSize: 2}).Create(&rows).Error)
			c.filled("plains", "id", ids(rows, plainID)...)
		}},
		{"Save with a zero key", func(c cell) {
			row := Based{Name: c.name()}
			require.NoError(c, c.db.Save(&row).Error)
			c.filled("baseds", "id", row.ID)
		}},
		{"Save again updates", func(c cell) {
			row := Based{Name: c.name()}
			require.NoError(c, c.db.Save(&row).Error)
			id := row.ID
			row.Name = c.name()
			require.NoError(c, c.db.Save(&row).Error)
			require.Equal(c, id, row.ID)
			c.filled("baseds", "id", id)
		}},
		{"Save of a slice", func(c cell) {
			first := Based{Name: c.name()}
			require.NoError(c, c.db.Create(&first).Error)
			rows := []Based{{Name: c.name()}, {Model: gormplugin.Model{ID: first.ID}, Name: c.name()}, {Name: c.name()}}
			require.NoError(c, c.db.Save(&rows).Error)
			require.Equal(c, first.ID, rows[1].ID)
			c.filled("baseds", "id", ids(rows, func(b Based) int64 { return b.ID })...)
		}},
		{"FirstOrCreate", func(c cell) {
			name := c.name()
			var row, again Based
			require.NoError(c, c.db.Where(Based{Name: name}).FirstOrCreate(&row).Error)
			require.NoError(c, c.db.Where(Based{Name: name}).FirstOrCreate(&again).Error)
			require.Equal(c, row.ID, again.ID)
			c.filled("baseds", "id", row.ID)
		}},
		{"generics", func(c cell) {
			row, auto := Plain{}, Auto{Name: c.name()}
			require.NoError(c, gorm.G[Plain](c.db).Create(c.Context(), &row))
			rows := make([]Plain, 5)
			require.NoError(c, gorm.G[Plain](c.db).CreateInBatches(c.Context(), &rows, 2))
			c.filled("plains", "id", append(ids(rows, plainID), row.ID)...)
			require.NoError(c, gorm.G[Auto](c.db).Create(c.Context(), &auto))
			c.filled("autos", "id", auto.ID)
		}},
		{"generics: Set", func(c cell) {
			name := clause.Column{Name: "name"}
			require.NoError(c, gorm.G[Based](c.db).Set(clause.Assignment{Column: name, Value: c.name()}).Create(c.Context()))
			var row Based
			require.NoError(c, c.db.Take(&row).Error)
			c.filled("baseds", "id", row.ID)
		}},
		{"table given by name", func(c cell) {
			row := Plain{}
			require.NoError(c, c.db.Table("ints").Create(&row).Error)
			c.filled("ints", "id", row.ID)
			c.holds("plains", "id")
		}},
		{"generics: table, conflict", func(c cell) {
			first, rows := Based{Name: c.name()}, []Based{{Name: c.name()}, {Name: c.name()}}
			require.NoError(c, gorm.G[Based](c.db).Create(c.Context(), &first))
			rows[1].Name = first.Name
			require.NoError(c, gorm.G[Based](c.db, upsertByName).CreateInBatches(c.Context(), &rows, 10))
			c.filled("baseds", "id", first.ID, rows[0].ID)
			row := Plain{}
			require.NoError(c, gorm.G[Plain](c.db).Table("ints").Create(c.Context(), &row))
			c.filled("ints", "id", row.ID)
		}},
		{"generics: transaction", func(c cell) {
			row := Plain{}
			require.NoError(c, c.db.Transaction(func(tx *gorm.DB) error { return gorm.G[Plain](tx).Create(c.Context(), &row) }))
			c.filled("plains", "id", row.ID)
		}},
		{"generics: associations", func(c cell) {
			customer := Customer{Orders: []Order{{}}}
			require.NoError(c, gorm.G[Customer](c.db).Create(c.Context(), &customer))
			c.filled("orders", "id", customer.Orders[0].ID)
			require.NoError(c, c.associate(customer.ID))
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
			c.filled("plains", "id", form.ID, forms[0].ID, forms[1].ID)
		}},
		{"tables by month, of one model", func(c cell) {
			var rows [2]Plain
			maps := []map[string]any{{"name": "a"}, {"name": "b"}}
			for i, table := range []string{"ints", "typeds"} {
				require.NoError(c, c.db.Table(table).Create(&rows[i]).Error)
			}
			require.NoError(c, c.db.Table("uints").Model(&Plain{}).Create(maps).Error)
			c.filled("ints", "id", rows[0].ID)
			c.filled("typeds", "id", rows[1].ID)
			c.filled("uints", "id", ids(maps, mapID)...)
		}},
		{"scopes", func(c cell) {
			row := Plain{}
			scope := func(tx *gorm.DB) *gorm.DB { return tx.Table("ints") }
			require.NoError(c, c.db.Scopes(scope).Create(&row).Error)
			c.filled("ints", "id", row.ID)
		}},
		{"serializers", func(c cell) {
			rows := []Serialized{{Labels: []string{"a"}}, {}}
			require.NoError(c, c.db.Create(&rows).Error)
			c.filled("serializeds", "id", rows[0].ID, rows[1].ID)
			c.holds("serializeds WHERE labels <> 'null'", "labels", `["a"]`)
		}},
		{"soft-deleted", func(c cell) {
			row := Based{Name: c.name()}
			require.NoError(c, c.db.Create(&row).Error)
			require.NoError(c, c.db.Delete(&row).Error)
			require.ErrorIs(c, c.db.Take(&Based{}, row.ID).Error, gorm.ErrRecordNotFound)
			c.filled("baseds", "id", row.ID)
		}},
	}
}
