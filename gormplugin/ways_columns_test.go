package gormplugin_test

import (
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowlease/snowlease/gormplugin"
)

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
		{"RETURNING of the statement's own", func(c cell) {
			row, rows := Auto{Name: c.name()}, []Based{{Name: c.name()}, {Name: c.name()}}
			require.NoError(c, c.db.Clauses(clause.Returning{}).Create(&row).Error)
			c.filled("autos", "id", row.ID)
			require.NoError(c, c.db.Clauses(clause.Returning{}).Create(&rows).Error)
			require.Len(c, rows, 2)
			c.filled("baseds", "id", ids(rows, basedID)...)
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
