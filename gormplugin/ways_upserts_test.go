package gormplugin_test

import (
	"github.com/stretchr/testify/require"
	"gorm.io/gorm/clause"

	"github.com/snowlease/snowlease/gormplugin"
)

var upsertByName = clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, DoUpdates: clause.AssignmentColumns([]string{"updated_at"})}

func upserts() []way {
	return []way{
		{"upsert of new rows", func(c cell) {
			rows := []Based{{Name: c.name()}, {Name: c.name()}}
			c.stored(c.db.Clauses(upsertByName).Create(&rows).Error, rows)
		}},
		{"upsert of a row that is there", func(c cell) {
			first := c.based()
			for _, upsert := range []clause.OnConflict{upsertByName, {Columns: upsertByName.Columns, UpdateAll: true}} {
				again := Based{Name: first.Name}
				c.stored(c.db.Clauses(upsert).Create(&again).Error, first)
				require.Equal(c, first.ID, again.ID, "the row keeps its key, and the value gets it")
			}
		}},
		// MySQL does not tell which of several rows it has found.
		{"upsert of rows, one of which is there", func(c cell) {
			first := c.based()
			rows := []*Based{{Name: c.name()}, {Name: first.Name}, {Name: c.name()}}
			require.NoError(c, c.db.Clauses(upsertByName).Create(rows).Error)
			c.filled("baseds", "id", rows[0].ID, first.ID, rows[2].ID)
			require.Equal(c, c.returning, rows[1].ID == first.ID)
		}},
		{"upsert of a model that the database numbers", func(c cell) {
			first := Auto{Name: c.name()}
			require.NoError(c, c.db.Create(&first).Error)
			rows := []Auto{{Name: c.name()}, {Name: first.Name}}
			require.NoError(c, c.db.Clauses(upsertByName).Create(&rows).Error)
			c.filled("autos", "id", rows[0].ID, first.ID)
			require.Equal(c, c.returning, rows[1].ID == first.ID)
		}},
		{"upsert by the key", func(c cell) {
			first := c.based()
			rows := []Based{{Model: gormplugin.Model{ID: first.ID}, Name: c.name()}, {Name: c.name()}}
			c.stored(c.db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&rows).Error, rows, first.ID)
			c.holds("baseds", "name", rows[0].Name, rows[1].Name)
		}},
		{"upsert of maps", func(c cell) {
			first := c.based()
			for _, key := range []string{"id", "ID"} {
				m := map[string]any{"name": first.Name, key: nil}
				require.NoError(c, c.db.Model(&Based{}).Clauses(upsertByName).Create(m).Error)
				c.filled("baseds", "id", first.ID)
				require.Equal(c, c.returning, m[key] == first.ID)
				require.Len(c, m, 2)
			}
			rows := []map[string]any{{"name": c.name()}, {"name": first.Name, "ID": 0}}
			require.NoError(c, c.db.Model(&Based{}).Clauses(upsertByName).Create(&rows).Error)
			require.Len(c, rows, 2)
			c.filled("baseds", "id", rows[0]["id"], first.ID)
			require.Equal(c, c.returning, rows[1]["ID"] == first.ID)
		}},
		{"conflict ignored: each value has what the database made for it", func(c cell) {
			taken := c.name()
			require.NoError(c, c.db.Create(&Made{Name: taken}).Error)
			rows := []*Made{{Name: taken}, {Name: c.name()}, {Name: taken}, {Name: c.name()}}
			tx := c.db.Clauses(clause.OnConflict{DoNothing: true}).Create(rows)
			require.NoError(c, tx.Error)
			var stored []Made
			require.NoError(c, c.db.Not("name", taken).Order("id").Find(&stored).Error)
			if !c.returning {
				for i := range stored {
					stored[i].Origin = ""
				}
			}
			require.Equal(c, []Made{*rows[1], *rows[3]}, stored)
			c.issued(rows[1].ID, rows[3].ID)
		}},
		// The row that the condition leaves out is not returned. MySQL ignores the condition.
		{"upsert with a condition: an updated row's key, and its children", func(c cell) {
			taken := []PetFilled{{Name: c.name()}, {Name: c.name()}, {Name: c.name()}}
			require.NoError(c, c.db.Create(&taken).Error)
			out := taken[1].ID
			upsert := upsertByName
			upsert.Where = clause.Where{Exprs: []clause.Expression{clause.Neq{Column: clause.Column{Table: "pet_filleds", Name: "id"}, Value: out}}}
			rows := []*PetFilled{
				{Name: c.name(), Toys: make([]Toy, 1)}, {Name: taken[1].Name}, {Name: taken[2].Name, Toys: make([]Toy, 1)}, {Name: taken[0].Name, Toys: make([]Toy, 1)},
			}
			require.NoError(c, c.db.Clauses(upsert).Create(rows).Error)
			require.Equal(c, []int64{taken[2].ID, taken[0].ID}, []int64{rows[2].ID, rows[3].ID})
			require.Equal(c, c.db.Name() == "mysql", rows[1].ID == out)
			c.filled("pet_filleds", "id", rows[0].ID, out, taken[2].ID, taken[0].ID)
			c.holds("toys", "pet_id", rows[0].ID, taken[2].ID, taken[0].ID)
		}},
		{"INSERT IGNORE", func(c cell) {
			ignore := clause.Insert{Modifier: map[string]string{"mysql": "IGNORE", "sqlite": "OR IGNORE"}[c.db.Name()]}
			if ignore.Modifier == "" { // PostgreSQL has none
				return
			}
			taken := c.name()
			require.NoError(c, c.db.Create(&Auto{Name: taken}).Error)
			rows := []Auto{{Name: taken}, {Name: c.name()}, {Name: c.name()}}
			tx := c.db.Clauses(ignore).Create(&rows)
			require.NoError(c, tx.Error)
			require.EqualValues(c, 2, tx.RowsAffected)
			c.issued(ids(rows, autoID)...)
			c.holds("autos WHERE name = '"+rows[1].Name+"'", "id", rows[1].ID)
			c.holds("autos WHERE name = '"+rows[2].Name+"'", "id", rows[2].ID)
			require.Equal(c, "new", rows[1].Status)
			again := []*Auto{{Name: taken}, {Name: taken}}
			tx = c.db.Clauses(ignore).Create(again)
			require.NoError(c, tx.Error)
			require.Zero(c, tx.RowsAffected)
			c.issued(again[0].ID, again[1].ID)
		}},
	}
}
