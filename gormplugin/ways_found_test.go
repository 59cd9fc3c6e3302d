package gormplugin_test

import (
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowlease/snowlease/gormplugin"
)

// found lists what becomes of the rows that refer to a row that another unique key finds.
func found() []way {
	return []way{
		// On MySQL, GORM alone gives the children of several rows to other pets.
		{"children of rows, some of which are there", func(c cell) {
			for _, found := range [][]int{{1}, {1, -1, 0, -1}} { // those that are there, or -1
				taken, rows := []PetFilled{{Name: c.name()}, {Name: c.name()}}, []*PetFilled{}
				require.NoError(c, c.db.Create(&taken).Error)
				for _, i := range found {
					rows = append(rows, &PetFilled{Name: c.name(), Collar: &Collar{}, Toys: make([]Toy, 2), Bells: make([]Bell, 1), Vets: []*Vet{{Name: c.name()}}})
					if i >= 0 {
						rows[len(rows)-1].Name = taken[i].Name
					}
				}
				require.NoError(c, c.db.Clauses(upsertByName).Create(rows).Error)
				for n, i := range found {
					require.True(c, i < 0 || rows[n].ID == taken[i].ID)
				}
				keys := ids(rows, func(p *PetFilled) int64 { return p.ID })
				c.issued(keys...)
				c.holds("collars", "pet_id", keys...)
				c.holds("toys", "pet_id", append(keys, keys...)...)
				c.holds("bells", "pet_id", keys...)
				c.holds("pet_filled_vets", "pet_filled_id", keys...)
				c.empty([]string{"pet_filleds", "collars", "toys", "bells", "vets", "pet_filled_vets"})
			}
		}},
		{"children of rows that the database numbers", func(c cell) {
			taken := []Pet{{Name: c.name()}, {Name: c.name()}}
			require.NoError(c, c.db.Create(&taken).Error)
			// On MySQL, GORM alone does not read the key of a row that does not change.
			later := gorm.Model{UpdatedAt: time.Now().Add(time.Hour)}
			one := Pet{Model: later, Name: taken[1].Name, Toys: make([]Toy, 1)}
			require.NoError(c, c.db.Clauses(upsertByName).Create(&one).Error)
			rows := []Pet{{Name: c.name(), Toys: make([]Toy, 1)}, {Name: taken[1].Name, Toys: make([]Toy, 1)}, {Name: taken[0].Name, Toys: make([]Toy, 1)}}
			require.NoError(c, c.db.Clauses(upsertByName).Create(&rows).Error)
			c.holds("toys", "pet_id", taken[1].ID, rows[0].ID, taken[1].ID, taken[0].ID)
			c.filled("pets", "id", rows[0].ID, taken[1].ID, taken[0].ID)
		}},
		{"a key that is text", func(c cell) {
			first := PetNamed{Name: c.name()}
			require.NoError(c, c.db.Create(&first).Error)
			again := PetNamed{Name: first.Name, Treats: make([]Treat, 2)}
			err := c.db.Clauses(upsertByName).Create(&again).Error
			if c.returning {
				require.NoError(c, err)
				c.holds("treats", "pet_id", first.ID, first.ID)
				return
			}
			// MySQL tells numbers only.
			require.ErrorIs(c, err, gorm.ErrPrimaryKeyRequired)
			c.holds("treats", "pet_id")
			rows := []PetNamed{{Name: c.name(), Treats: make([]Treat, 1)}, {Name: c.name(), Treats: make([]Treat, 1)}}
			require.NoError(c, c.db.Clauses(upsertByName).Create(&rows).Error)
			c.holds("treats", "pet_id", rows[0].ID, rows[1].ID)
		}},
		{"a row that is there and does not change", func(c cell) {
			db := c.db
			if d, ok := c.dialector().(*mysql.Dialector); ok { // which then counts as 1 row, like a new one
				db = open(c, mysql.New(mysql.Config{DSN: d.DSN + "&clientFoundRows=true", DisableWithReturning: d.DisableWithReturning}),
					gormplugin.New(c.source, gormplugin.Config{}))
			}
			first := Based{Name: c.name(), Model: gormplugin.Model{ID: -5}}
			require.NoError(c, db.Create(&first).Error)
			again := Based{Name: first.Name}
			same := clause.OnConflict{Columns: upsertByName.Columns, DoUpdates: clause.AssignmentColumns([]string{"name"})}
			for range 2 {
				require.NoError(c, db.Clauses(same).Create(&again).Error)
				require.Equal(c, first.ID, again.ID)
			}
			fresh := Based{Name: c.name()}
			require.NoError(c, db.Clauses(same).Create(&fresh).Error)
			c.issued(fresh.ID)
			c.holds("baseds", "id", -5, fresh.ID)
		}},
		{"an upsert of a table with another AUTO_INCREMENT column", func(c cell) {
			if c.db.Name() != "mysql" {
				return
			}
			require.NoError(c, c.db.Exec("CREATE TABLE counted (seq BIGINT UNIQUE AUTO_INCREMENT, id BIGINT PRIMARY KEY, name VARCHAR(50) UNIQUE)").Error)
			rows := make([]Plain, 3)
			for i, name := range []string{"a", "b", "a"} {
				rows[i].Name = name
				require.NoError(c, c.db.Table("counted").Clauses(clause.OnConflict{DoNothing: true}).Create(&rows[i]).Error)
			}
			require.Equal(c, rows[0].ID, rows[2].ID)
			c.filled("counted", "id", rows[0].ID, rows[1].ID)
		}},
	}
}
