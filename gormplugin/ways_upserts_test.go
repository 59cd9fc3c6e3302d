package gormplugin_test

import (
	"github.com/stretchr/testify/require"
	"gorm.io/gorm/clause"

	"github.com/snowlease/snowlease/gormplugin"
)

var upsertByName = clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, DoUpdates: clause.AssignmentColumns([]string{"updated_at"})}

func basedID(b Based) int64 { return b.ID }

func upserts() []way {
	return []way{
		{"upsert of new rows", func(c cell) {
			rows := []Based{{Name: c.name()}, {Name: c.name()}}
			require.NoError(c, c.db.Clauses(upsertByName).Create(&rows).Error)
			c.filled("baseds", "id", rows[0].ID, rows[1].ID)
		}},
		// The row keeps its key, and the value gets it if the database returns it.
		{"upsert of a row that is there", func(c cell) {
			first := Based{Name: c.name()}
			require.NoError(c, c.db.Create(&first).Error)
			again := Based{Name: first.Name}
			require.NoError(c, c.db.Clauses(upsertByName).Create(&again).Error)
			c.filled("baseds", "id", first.ID)
			require.Equal(c, c.returning, again.ID == first.ID)
		}},
		{"upsert of rows, one of which is there", func(c cell) {
			first := Based{Name: c.name()}
			require.NoError(c, c.db.Create(&first).Error)
			rows := []*Based{{Name: c.name()}, {Name: first.Name}, {Name: c.name()}}
			require.NoError(c, c.db.Clauses(upsertByName).Create(rows).Error)
			c.filled("baseds", "id", rows[0].ID, first.ID, rows[2].ID)
			require.Equal(c, c.returning, rows[1].ID == first.ID)
		}},
		{"upsert in batches", func(c cell) {
			first := Based{Name: c.name()}
			require.NoError(c, c.db.Create(&first).Error)
			rows := []Based{{Name: c.name()}, {Name: c.name()}, {Name: first.Name}}
			require.NoError(c, c.db.Clauses(upsertByName).CreateInBatches(&rows, 2).Error)
			c.filled("baseds", "id", rows[0].ID, rows[1].ID, first.ID)
			require.Equal(c, c.returning, rows[2].ID == first.ID)
		}},
		{"upsert of all columns by another key", func(c cell) {
			first := Based{Name: c.name()}
			require.NoError(c, c.db.Create(&first).Error)
			again := Based{Name: first.Name}
			require.NoError(c, c.db.Clauses(clause.OnConflict{Columns: upsertByName.Columns, UpdateAll: true}).Create(&again).Error)
			c.filled("baseds", "id", first.ID)
			require.Equal(c, c.returning, again.ID == first.ID)
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
			first := Based{Name: c.name()}
			require.NoError(c, c.db.Create(&first).Error)
			rows := []Based{{Model: gormplugin.Model{ID: first.ID}, Name: c.name()}, {Name: c.name()}}
			require.NoError(c, c.db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&rows).Error)
			require.Equal(c, first.ID, rows[0].ID)
			c.filled("baseds", "id", ids(rows, basedID)...)
			c.holds("baseds", "name", rows[0].Name, rows[1].Name)
		}},
		{"upsert of a map", func(c cell) {
			first := Based{Name: c.name()}
			require.NoError(c, c.db.Create(&first).Error)
			for _, key := range []string{"id", "ID"} {
				m := map[string]any{"name": first.Name, key: nil}
				require.NoError(c, c.db.Model(&Based{}).Clauses(upsertByName).Create(m).Error)
				c.filled("baseds", "id", first.ID)
				require.Equal(c, c.returning, m[key] == first.ID)
				require.Len(c, m, 2)
			}
		}},
		{"upsert of maps", func(c cell) {
			first := Based{Name: c.name()}
			require.NoError(c, c.db.Create(&first).Error)
			rows := []map[string]any{{"name": c.name()}, {"name": first.Name, "ID": 0}}
			require.NoError(c, c.db.Model(&Based{}).Clauses(upsertByName).Create(&rows).Error)
			require.Len(c, rows, 2)
			c.filled("baseds", "id", rows[0]["id"], first.ID)
			require.Equal(c, c.returning, rows[1]["ID"] == first.ID)
		}},
		{"conflict ignored", func(c cell) {
			first := Based{Name: c.name()}
			require.NoError(c, c.db.Create(&first).Error)
			rows := []Based{{Name: first.Name}, {Name: c.name()}}
			require.NoError(c, c.db.Clauses(clause.OnConflict{DoNothing: true}).Create(&rows).Error)
			c.filled("baseds", "id", first.ID, rows[1].ID)
		}},
		{"a child that is there already", func(c cell) {
			first := Topic{Title: c.name()}
			require.NoError(c, c.db.Create(&first).Error)
			article := Article{Topics: []Topic{first, {Title: c.name()}}}
			require.NoError(c, c.db.Create(&article).Error)
			c.filled("topics", "id", first.ID, article.Topics[1].ID)
			c.holds("article_topics", "topic_id", first.ID, article.Topics[1].ID)
		}},
	}
}
