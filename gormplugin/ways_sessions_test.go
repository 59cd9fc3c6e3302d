package gormplugin_test

import (
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

func sessions() []way {
	return []way{
		{"hooks see the id", func(c cell) {
			rows := make([]Hooked, 2)
			c.stored(c.db.Create(&rows).Error, rows)
			c.issued(rows[0].Before, rows[1].Save)
		}},
		creates("a hook's own id wins", &Stubborn{}, 7),
		{"SkipHooks", func(c cell) {
			row := Stubborn{}
			c.stored(c.db.Session(&gorm.Session{SkipHooks: true}).Create(&row).Error, row)
		}},
		{"DryRun", func(c cell) {
			row := Plain{}
			tx := c.db.Session(&gorm.Session{DryRun: true}).Create(&row)
			require.NoError(c, tx.Error)
			require.Contains(c, tx.Statement.Vars, row.ID)
			id := row.ID
			c.issued(id)
			c.holds("plains", "id")
			require.Contains(c, c.db.ToSQL(func(tx *gorm.DB) *gorm.DB { return tx.Create(&row) }), strconv.FormatInt(id, 10))
			c.stored(c.db.Create(&row).Error, row, id)
			upsert := []Made{{Name: c.name()}}
			sql := c.db.ToSQL(func(tx *gorm.DB) *gorm.DB { return tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&upsert) })
			require.Contains(c, sql, strconv.FormatInt(upsert[0].ID, 10))
			require.Equal(c, c.returning, strings.Contains(sql, "RETURNING"))
		}},
	}
}
