package gormplugin_test

import (
	"database/sql"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/idworker/snowflake"
)

// TestWays is the list of what works: each row writes in one way, on each dialect,
// and a second connection looks at what is in the table afterwards.
func TestWays(t *testing.T) {
	t.Parallel()
	for _, d := range dialects() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			dialector, other := d.open(t)
			db := open(t, dialector, gormplugin.New(newGenerator(t), gormplugin.Config{Convert: convert}))
			require.NoError(t, db.SetupJoinTable(&Customer{}, "Tags", &CustomerTag{}))
			require.NoError(t, db.AutoMigrate(models()...))
			seq := new(atomic.Int64)
			for _, w := range ways() {
				t.Run(w.name, func(t *testing.T) {
					for _, m := range slices.Backward(models()) {
						require.NoError(t, db.Session(&gorm.Session{AllowGlobalUpdate: true}).Unscoped().Delete(m).Error)
					}
					w.write(cell{t, db, other, d.name != "mariadb without RETURNING", seq})
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
	for _, group := range [][]way{shapes(), finishers(), maps(), kinds(), sessions(), columns(), associations(), conflicts()} {
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
		{"scopes", func(c cell) {
			row := Plain{}
			scope := func(tx *gorm.DB) *gorm.DB { return tx.Table("ints") }
			require.NoError(c, c.db.Scopes(scope).Create(&row).Error)
			c.filled("ints", "id", row.ID)
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

func maps() []way {
	return []way{
		{"map", func(c cell) {
			m := map[string]any{"name": c.name()}
			require.NoError(c, c.db.Model(&Plain{}).Create(m).Error)
			c.filled("plains", "id", m["id"])
		}},
		{"map by the field's name, zero", func(c cell) {
			m := map[string]any{"ID": 0, "Name": c.name()}
			require.NoError(c, c.db.Model(&Plain{}).Create(&m).Error)
			c.filled("plains", "id", m["ID"])
			require.NotContains(c, m, "id")
		}},
		{"map with an id", func(c cell) {
			m := map[string]any{"id": 9}
			require.NoError(c, c.db.Model(&Plain{}).Create(m).Error)
			c.holds("plains", "id", 9)
		}},
		{"map of an AUTO_INCREMENT model", func(c cell) {
			m := map[string]any{"name": c.name()}
			require.NoError(c, c.db.Model(&Auto{}).Create(m).Error)
			c.filled("autos", "id", m["id"])
		}},
		{"maps", func(c cell) {
			rows := []map[string]any{{"name": "a"}, {"ID": int64(3)}, {"name": "c", "id": nil}}
			require.NoError(c, c.db.Model(&Plain{}).Create(rows).Error)
			c.issued(rows[0]["id"], rows[2]["id"])
			c.holds("plains", "id", rows[0]["id"], 3, rows[2]["id"])
		}},
		// Plain GORM cannot insert these on dialects with RETURNING.
		{"maps of an AUTO_INCREMENT model", func(c cell) {
			rows := []map[string]any{{"name": c.name()}, {"name": c.name()}, {"name": c.name()}}
			require.NoError(c, c.db.Model(&Auto{}).Create(rows).Error)
			require.Len(c, rows, 3)
			c.filled("autos", "id", ids(rows, mapID)...)
		}},
		// Plain GORM appends maps to the caller's on dialects with RETURNING.
		{"pointer to maps of an AUTO_INCREMENT model, by other names", func(c cell) {
			rows := []map[string]any{{"name": c.name()}, {"Name": c.name(), "ID": uint(4)}, {"name": c.name(), "Id": 0}}
			require.NoError(c, c.db.Model(&Auto{}).Create(&rows).Error)
			require.Len(c, rows, 3)
			require.EqualValues(c, 4, rows[1]["ID"])
			c.issued(rows[0]["id"], rows[2]["Id"])
			c.holds("autos", "id", rows[0]["id"], rows[1]["ID"], rows[2]["Id"])
			c.holds("autos", "id", ids(rows, mapID)...)
		}},
		// Plain GORM mixes the caller's maps up on dialects with RETURNING.
		{"maps in batches, AUTO_INCREMENT", func(c cell) {
			rows := []map[string]any{{"name": c.name()}, {"name": c.name()}, {"name": c.name()}}
			name := rows[2]["name"]
			require.NoError(c, c.db.Model(&Auto{}).CreateInBatches(rows, 2).Error)
			require.Equal(c, name, rows[2]["name"])
			c.filled("autos", "id", ids(rows, mapID)...)
		}},
		{"maps, conflict ignored", func(c cell) {
			taken := c.name()
			require.NoError(c, c.db.Create(&Auto{Name: taken}).Error)
			rows := []map[string]any{{"name": c.name()}, {"name": taken}}
			require.NoError(c, c.db.Model(&Auto{}).Clauses(clause.OnConflict{DoNothing: true}).Create(rows).Error)
			var stored Auto
			require.NoError(c, c.db.Take(&stored, "name = ?", rows[0]["name"]).Error)
			require.EqualValues(c, stored.ID, rows[0]["id"])
		}},
		{"map, upsert of a row that is there", func(c cell) {
			first := Auto{Name: c.name()}
			require.NoError(c, c.db.Create(&first).Error)
			m := map[string]any{"name": first.Name, "status": "x"}
			update := clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, DoUpdates: clause.AssignmentColumns([]string{"status"})}
			require.NoError(c, c.db.Model(&Auto{}).Clauses(update).Create([]map[string]any{m}).Error)
			c.filled("autos", "id", first.ID)
			if c.returning {
				require.EqualValues(c, first.ID, m["id"])
			}
		}},
		{"maps with a RETURNING clause of the statement's own", func(c cell) {
			rows := []map[string]any{{"name": c.name()}, {"name": c.name()}}
			all := rows
			require.NoError(c, c.db.Model(&Auto{}).Clauses(clause.Returning{}).Create(&all).Error)
			c.filled("autos", "id", ids(rows, mapID)...)
			if c.returning {
				require.Len(c, all, 4, "GORM appends what came back")
				require.EqualValues(c, "new", all[3]["status"])
			}
		}},
		{"maps with keys of text", func(c cell) {
			rows := []map[string]any{{"name": "a"}, {"name": "b"}}
			require.NoError(c, c.db.Model(&Text{}).Create(rows).Error)
			c.filled("texts", "id", ids(rows, mapID)...)
			require.IsType(c, "", rows[0]["id"])
		}},
		{"maps with keys of the app's own", func(c cell) {
			m := map[string]any{}
			require.NoError(c, c.db.Model(&Base36{}).Create(m).Error)
			c.holds("base36", "id", m["id"])
			id, err := snowflake.ParseID(m["id"].(string), 36)
			require.NoError(c, err)
			c.issued(int64(id))
		}},
	}
}

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
	}
}

func sessions() []way {
	return []way{
		{"hooks see the id", func(c cell) {
			rows := make([]Hooked, 2)
			require.NoError(c, c.db.Create(&rows).Error)
			c.filled("hookeds", "id", rows[0].ID, rows[1].ID)
			c.issued(rows[0].Before, rows[1].Save)
		}},
		{"a hook's own id wins", func(c cell) {
			row := Stubborn{}
			require.NoError(c, c.db.Create(&row).Error)
			c.holds("stubborns", "id", 7)
		}},
		{"SkipHooks", func(c cell) {
			row := Stubborn{}
			require.NoError(c, c.db.Session(&gorm.Session{SkipHooks: true}).Create(&row).Error)
			c.filled("stubborns", "id", row.ID)
		}},
		{"SkipDefaultTransaction", func(c cell) {
			rows := make([]Plain, 3)
			require.NoError(c, c.db.Session(&gorm.Session{SkipDefaultTransaction: true}).Create(&rows).Error)
			c.filled("plains", "id", ids(rows, plainID)...)
		}},
		{"PrepareStmt", func(c cell) {
			rows := make([]Plain, 2)
			tx := c.db.Session(&gorm.Session{PrepareStmt: true})
			require.NoError(c, tx.Create(&rows[0]).Error)
			require.NoError(c, tx.Create(&rows[1]).Error)
			c.filled("plains", "id", ids(rows, plainID)...)
		}},
		{"DryRun", func(c cell) {
			row := Plain{}
			tx := c.db.Session(&gorm.Session{DryRun: true}).Create(&row)
			require.NoError(c, tx.Error)
			require.Contains(c, tx.Statement.Vars, row.ID)
			c.issued(row.ID)
			c.holds("plains", "id")
		}},
		{"transactions and savepoints", func(c cell) {
			var kept, undone, last Plain
			require.NoError(c, c.db.Transaction(func(tx *gorm.DB) error {
				require.NoError(c, tx.Create(&kept).Error)
				require.ErrorIs(c, tx.Transaction(func(tx *gorm.DB) error {
					require.NoError(c, tx.Create(&undone).Error)
					return gorm.ErrInvalidTransaction
				}), gorm.ErrInvalidTransaction)
				return tx.Create(&last).Error
			}))
			c.issued(undone.ID)
			c.filled("plains", "id", kept.ID, last.ID)
		}},
		{"a failed INSERT keeps its id for the next try", func(c cell) {
			first := Plain{ID: 1}
			rows := []Plain{{}, {ID: 1}}
			require.NoError(c, c.db.Create(&first).Error)
			require.Error(c, c.db.Create(&rows).Error)
			id := rows[0].ID
			require.NoError(c, c.db.Create(&rows[0]).Error)
			require.Equal(c, id, rows[0].ID)
			c.holds("plains", "id", 1, id)
		}},
		{"many at once", func(c cell) {
			rows := make([]Based, 64)
			var wg sync.WaitGroup
			for w := range 4 {
				wg.Go(func() {
					for i := w; i < len(rows); i += 4 {
						rows[i].Name = c.name()
						if err := c.db.Create(&rows[i]).Error; err != nil {
							c.Errorf("row %d: %v", i, err)
						}
					}
				})
			}
			wg.Wait()
			c.filled("baseds", "id", ids(rows, func(b Based) int64 { return b.ID })...)
		}},
	}
}

func columns() []way {
	return []way{
		{"Select without the key", func(c cell) {
			row, auto := Based{Name: c.name()}, Auto{Name: c.name()}
			require.NoError(c, c.db.Select("Name").Create(&row).Error)
			c.filled("baseds", "id", row.ID)
			require.NoError(c, c.db.Select("Name").Create(&auto).Error)
			c.filled("autos", "id", auto.ID)
		}},
		{"Select without the key of a map", func(c cell) {
			m := map[string]any{"name": c.name()}
			require.NoError(c, c.db.Model(&Auto{}).Select("Name").Create(m).Error)
			c.filled("autos", "id", m["id"])
		}},
		{"Select with the key", func(c cell) {
			row := Based{Name: c.name()}
			require.NoError(c, c.db.Select("ID", "Name").Create(&row).Error)
			c.filled("baseds", "id", row.ID)
		}},
		{"Select all", func(c cell) {
			row := Based{Name: c.name()}
			require.NoError(c, c.db.Select("*").Create(&row).Error)
			c.filled("baseds", "id", row.ID)
		}},
		{"Select is not shared between sessions", func(c cell) {
			base := c.db.Select("Name").Session(&gorm.Session{})
			row := Auto{Name: c.name()}
			require.NoError(c, base.Create(&row).Error)
			require.Equal(c, []string{"Name"}, base.Statement.Selects)
			c.filled("autos", "id", row.ID)
		}},
		{"Omit of another column", func(c cell) {
			row := Auto{Name: c.name(), Status: "x"}
			require.NoError(c, c.db.Omit("Status").Create(&row).Error)
			c.filled("autos", "id", row.ID)
		}},
		{"Omit of the key lets the database number", func(c cell) {
			row := Auto{Name: c.name()}
			require.NoError(c, c.db.Omit("id").Create(&row).Error)
			require.NotZero(c, row.ID)
			require.NoError(c, c.db.Take(&Auto{}, row.ID).Error)
		}},
		{"the session's opt-out", func(c cell) {
			row := Auto{Name: c.name()}
			require.NoError(c, c.db.Set(gormplugin.SkipKey, true).Create(&row).Error)
			require.NoError(c, c.db.Take(&Auto{}, row.ID).Error)
			plain := Plain{}
			require.NoError(c, c.db.Set(gormplugin.SkipKey, true).Create(&plain).Error)
			c.holds("plains", "id", 0)
		}},
	}
}

func associations() []way {
	return []way{
		{"all four kinds, three deep", func(c cell) {
			shared := &Tag{Name: "shared"}
			customers := []Customer{
				{Profile: &Profile{}, Orders: []Order{{Items: []*Item{{Product: Product{Name: "a"}}, {Product: Product{Name: "b"}}}}, {}}, Tags: []*Tag{shared, {}}},
				{Profile: &Profile{}, Orders: []Order{{Items: []*Item{{Product: Product{Name: "c"}}}}}},
			}
			require.NoError(c, c.db.Create(&customers).Error)
			a, b := customers[0], customers[1]
			c.filled("customers", "id", a.ID, b.ID)
			c.filled("profiles", "id", a.Profile.ID, b.Profile.ID)
			c.holds("profiles", "customer_id", a.ID, b.ID)
			c.filled("orders", "id", a.Orders[0].ID, a.Orders[1].ID, b.Orders[0].ID)
			c.holds("orders", "customer_id", a.ID, a.ID, b.ID)
			items := []*Item{a.Orders[0].Items[0], a.Orders[0].Items[1], b.Orders[0].Items[0]}
			c.filled("items", "id", ids(items, func(i *Item) int64 { return i.ID })...)
			c.filled("products", "id", ids(items, func(i *Item) int64 { return i.Product.ID })...)
			c.holds("items", "product_id", ids(items, func(i *Item) int64 { return i.Product.ID })...)
			c.holds("items", "order_id", a.Orders[0].ID, a.Orders[0].ID, b.Orders[0].ID)
			c.filled("tags", "id", shared.ID, a.Tags[1].ID)
			c.holds("customer_tags", "tag_id", shared.ID, a.Tags[1].ID)
			var joins []CustomerTag
			require.NoError(c, c.db.Find(&joins).Error)
			c.filled("customer_tags", "id", joins[0].ID, joins[1].ID)
		}},
		{"a parent that rows share", func(c cell) {
			customer := &Customer{Name: c.name()}
			orders := []*Order{{Customer: customer}, {Customer: customer}}
			require.NoError(c, c.db.Create(&orders).Error)
			c.filled("customers", "id", customer.ID)
			c.holds("orders", "customer_id", customer.ID, customer.ID)
		}},
		{"association mode", func(c cell) {
			customer := Customer{Name: c.name()}
			require.NoError(c, c.db.Create(&customer).Error)
			require.NoError(c, c.db.Model(&customer).Association("Orders").Append(&Order{}, &Order{}))
			require.NoError(c, c.db.Model(&customer).Association("Tags").Append(&Tag{}))
			c.filled("orders", "id", customer.Orders[0].ID, customer.Orders[1].ID)
			c.filled("tags", "id", customer.Tags[0].ID)
			c.holds("customer_tags", "tag_id", customer.Tags[0].ID)
		}},
		{"saved with an update", func(c cell) {
			customer := Customer{Name: c.name()}
			require.NoError(c, c.db.Create(&customer).Error)
			customer.Orders = []Order{{Items: []*Item{{Product: Product{Name: "a"}}}}}
			require.NoError(c, c.db.Session(&gorm.Session{FullSaveAssociations: true}).Updates(&customer).Error)
			c.filled("orders", "id", customer.Orders[0].ID)
			c.filled("items", "id", customer.Orders[0].Items[0].ID)
		}},
		{"Select of a nested association", func(c cell) {
			customer := Customer{Name: c.name(), Orders: []Order{{Items: []*Item{{Product: Product{Name: "a"}}}}}, Profile: &Profile{}}
			require.NoError(c, c.db.Select("Name", "Orders", "Orders.Items", "Orders.Items.Product").Create(&customer).Error)
			c.filled("customers", "id", customer.ID)
			c.filled("orders", "id", customer.Orders[0].ID)
			c.holds("profiles", "id")
		}},
	}
}

func conflicts() []way {
	upsert := clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, DoUpdates: clause.AssignmentColumns([]string{"updated_at"})}
	return []way{
		{"upsert of new rows", func(c cell) {
			rows := []Based{{Name: c.name()}, {Name: c.name()}}
			require.NoError(c, c.db.Clauses(upsert).Create(&rows).Error)
			c.filled("baseds", "id", rows[0].ID, rows[1].ID)
		}},
		// The row keeps its key. What the value holds is GORM's affair: reload.
		{"upsert of a row that is there", func(c cell) {
			first := Based{Name: c.name()}
			require.NoError(c, c.db.Create(&first).Error)
			again := Based{Name: first.Name}
			require.NoError(c, c.db.Clauses(upsert).Create(&again).Error)
			c.filled("baseds", "id", first.ID)
		}},
		{"conflict ignored", func(c cell) {
			first := Based{Name: c.name()}
			require.NoError(c, c.db.Create(&first).Error)
			rows := []Based{{Name: first.Name}, {Name: c.name()}}
			require.NoError(c, c.db.Clauses(clause.OnConflict{DoNothing: true}).Create(&rows).Error)
			c.filled("baseds", "id", first.ID, rows[1].ID)
		}},
	}
}
