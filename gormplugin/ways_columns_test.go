package gormplugin_test

import (
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowlease/snowlease/gormplugin"
)

func columns() []way {
	return []way{
		{"Select with and without the key", func(c cell) {
			for _, selects := range [][]string{{"Name"}, {"ID", "Name"}, {"*"}} {
				row := Based{Name: c.name()}
				c.stored(c.db.Select(selects).Create(&row).Error, row)
				require.NoError(c, c.db.Unscoped().Delete(&row).Error)
			}
			m := map[string]any{"name": c.name()}
			require.NoError(c, c.db.Model(&Auto{}).Select("Name").Create(m).Error)
			c.filled("autos", "id", m["id"])
		}},
		{"Select is not shared between sessions", func(c cell) {
			base := c.db.Select("Name").Session(&gorm.Session{})
			row := Auto{Name: c.name()}
			c.stored(base.Create(&row).Error, row)
			require.Equal(c, []string{"Name"}, base.Statement.Selects)
		}},
		{"RETURNING of the statement's own", func(c cell) {
			row, rows := Auto{Name: c.name()}, []Based{{Name: c.name()}, {Name: c.name()}}
			c.stored(c.db.Clauses(clause.Returning{}).Create(&row).Error, row)
			c.stored(c.db.Clauses(clause.Returning{}).Create(&rows).Error, rows)
			require.Len(c, rows, 2)
		}},
		{"Omit of the key and the session's opt-out let the database number", func(c cell) {
			omitted, skipped, plain := Auto{Name: c.name()}, Auto{Name: c.name()}, Plain{}
			require.NoError(c, c.db.Omit("id").Create(&omitted).Error)
			require.NoError(c, c.db.Set(gormplugin.SkipKey, true).Create(&skipped).Error)
			require.NotZero(c, omitted.ID)
			require.Equal(c, omitted.ID+1, skipped.ID)
			c.holds("autos", "id", omitted.ID, skipped.ID)
			c.stored(c.db.Set(gormplugin.SkipKey, true).Create(&plain).Error, plain, 0)
		}},
	}
}
