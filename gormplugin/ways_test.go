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
			plugin := gormplugin.New(newGenerator(t), gormplugin.Config{Convert: convert})
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
					w.write(cell{t, db, other, dialector, returning, seq})
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
	for _, group := range [][]way{shapes(), finishers(), mapWays(), kinds(), sessions(), columns(), associations(), upserts(), limits()} {
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
