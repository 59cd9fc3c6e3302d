package gormplugin_test

import (
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// limits lists what GORM does not do, and what happens instead.
func limits() []way {
	return []way{
		{"limit: a struct by value cannot take its id", func(c cell) {
			// GORM panics when it writes back what the database made.
			require.ErrorIs(c, c.db.Create(Plain{}).Error, gorm.ErrInvalidValue)
			require.ErrorIs(c, c.db.Create([2]Auto{{Name: c.name()}, {Name: c.name()}}).Error, gorm.ErrInvalidValue)
			c.holds("plains", "id")
			c.holds("autos", "id")
		}},
		{"limit: a map without a model has no key", func(c cell) {
			// Without a model GORM does not know the columns.
			m := map[string]any{"name": c.name()}
			_ = c.db.Table("plains").Create(m).Error
			require.NotContains(c, m, "id")
		}},
		{"limit: SQL of the app's own", func(c cell) {
			// There is no value to set.
			require.NoError(c, c.db.Exec("INSERT INTO plains (id, name) VALUES (0, 'a')").Error)
			c.holds("plains", "id", 0)
		}},
		{"limit: hooks do not see maps", func(c cell) {
			// GORM runs no hooks for maps: the id is the plugin's, not 7.
			m := map[string]any{"name": c.name()}
			require.NoError(c, c.db.Model(&Stubborn{}).Create(m).Error)
			c.filled("stubborns", "id", m["id"])
		}},
		{"limit: Save of a map inserts nothing", func(c cell) {
			// Save updates maps, and GORM refuses an UPDATE without a condition.
			m := map[string]any{"name": c.name()}
			require.Error(c, c.db.Model(&Plain{}).Save(m).Error)
			c.holds("plains", "id")
		}},
		{"limit: FirstOrInit inserts nothing", func(c cell) {
			row := Plain{}
			require.NoError(c, c.db.FirstOrInit(&row, Plain{Name: c.name()}).Error)
			require.Zero(c, row.ID)
		}},
		{"limit: a row that a conflict leaves out", func(c cell) {
			// No database returns the key of the existing row. The value holds a key that
			// no row has, and RowsAffected counts the inserted rows only.
			first := Based{Name: c.name()}
			require.NoError(c, c.db.Create(&first).Error)
			again := Based{Name: first.Name}
			tx := c.db.Clauses(clause.OnConflict{DoNothing: true}).Create(&again)
			require.NoError(c, tx.Error)
			require.Zero(c, tx.RowsAffected)
			require.NotEqual(c, first.ID, again.ID)
			c.holds("baseds", "id", first.ID)
		}},
		{"limit: an upsert with a condition", func(c cell) {
			// The database returns the written rows only, and GORM assigns them to the
			// first values. The plugin restores the keys of these values.
			first := Auto{Name: c.name()}
			require.NoError(c, c.db.Create(&first).Error)
			upsert := upsertByName
			upsert.Where = clause.Where{Exprs: []clause.Expression{clause.Eq{Column: clause.Column{Table: "autos", Name: "status"}, Value: "x"}}}
			rows := []Auto{{Name: first.Name, Status: "y"}, {Name: c.name(), Status: "y"}}
			require.NoError(c, c.db.Clauses(upsert).Create(&rows).Error)
			c.filled("autos", "id", first.ID, rows[1].ID)
			// MySQL ignores the condition and updates the row.
			require.Equal(c, c.db.Name() == "mysql" && c.returning, rows[0].ID == first.ID)
		}},
		{"limit: a child that another key finds", func(c cell) {
			// GORM inserts children with DO NOTHING and joins the key in the value. A
			// foreign key refuses that, or the join row dangles. Look the child up first.
			first := Topic{Title: c.name()}
			require.NoError(c, c.db.Create(&first).Error)
			article := Article{Topics: []Topic{{Title: first.Title}}}
			err := c.db.Create(&article).Error
			c.holds("topics", "id", first.ID)
			if c.db.Name() == "sqlite" { // checks foreign keys only on request
				require.NoError(c, err)
				require.NotEqual(c, first.ID, article.Topics[0].ID)
				return
			}
			require.ErrorIs(c, err, gorm.ErrForeignKeyViolated)
			c.holds("articles", "id")
		}},
	}
}
