package gormplugin_test

import (
	"strconv"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowlease/snowlease/gormplugin"
)

func sessions() []way {
	return []way{
		{"hooks see the id", func(c cell) {
			rows := make([]Hooked, 2)
			require.NoError(c, c.db.Create(&rows).Error)
			c.filled("hookeds", "id", rows[0].ID, rows[1].ID)
			c.issued(rows[0].Before, rows[1].Save)
		}},
		{"a hook that stores a copy makes its key zero", func(c cell) {
			row := Draft{Copy: new(int64)}
			require.NoError(c, c.db.Create(&row).Error)
			c.filled("drafts", "id", row.ID, *row.Copy)
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
			id := row.ID
			c.issued(id)
			c.holds("plains", "id")
			require.Contains(c, c.db.ToSQL(func(tx *gorm.DB) *gorm.DB { return tx.Create(&row) }), strconv.FormatInt(id, 10))
			require.NoError(c, c.db.Create(&row).Error)
			c.holds("plains", "id", id)
			upsert := []Made{{Name: c.name()}}
			sql := c.db.ToSQL(func(tx *gorm.DB) *gorm.DB { return tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&upsert) })
			require.Contains(c, sql, strconv.FormatInt(upsert[0].ID, 10))
			require.Equal(c, c.returning, strings.Contains(sql, "RETURNING"))
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
		{"savepoints by hand", func(c cell) {
			var kept, undone, last Plain
			tx := c.db.Begin()
			require.NoError(c, tx.Create(&kept).Error)
			require.NoError(c, tx.SavePoint("a").Error)
			require.NoError(c, tx.Create(&undone).Error)
			require.NoError(c, tx.RollbackTo("a").Error)
			require.NoError(c, tx.Create(&last).Error)
			require.NoError(c, tx.Commit().Error)
			c.issued(undone.ID)
			c.filled("plains", "id", kept.ID, last.ID)
		}},
		{"transactions, nested ones off", func(c cell) {
			var a, b Plain
			require.NoError(c, c.db.Session(&gorm.Session{DisableNestedTransaction: true}).Transaction(func(tx *gorm.DB) error {
				require.NoError(c, tx.Create(&a).Error)
				return tx.Transaction(func(tx *gorm.DB) error { return tx.Create(&b).Error })
			}))
			c.filled("plains", "id", a.ID, b.ID)
		}},
		{"AllowGlobalUpdate", func(c cell) {
			rows := []Based{{Name: c.name()}, {Name: c.name()}}
			require.NoError(c, c.db.Session(&gorm.Session{AllowGlobalUpdate: true}).Save(&rows).Error)
			c.filled("baseds", "id", rows[0].ID, rows[1].ID)
		}},
		{"FullSaveAssociations", func(c cell) {
			customer := Customer{Profile: &Profile{}, Orders: []Order{{Items: []*Item{{Product: Product{Name: "a"}}}}}, Tags: []*Tag{{}}}
			tx := c.db.Session(&gorm.Session{FullSaveAssociations: true})
			require.NoError(c, tx.Create(&customer).Error)
			require.NoError(c, c.associate(customer.ID))
			item := customer.Orders[0].Items[0]
			c.filled("items", "id", item.ID)
			c.filled("products", "id", item.Product.ID)
			c.filled("tags", "id", customer.Tags[0].ID)
			customer.Orders = append(customer.Orders, Order{})
			require.NoError(c, tx.Save(&customer).Error)
			c.filled("orders", "id", customer.Orders[0].ID, customer.Orders[1].ID)
		}},
		{"CreateBatchSize with associations", func(c cell) {
			customer := Customer{Orders: make([]Order, 5), Tags: []*Tag{{}, {}, {}}}
			require.NoError(c, c.db.Session(&gorm.Session{CreateBatchSize: 2}).Create(&customer).Error)
			c.filled("orders", "id", ids(customer.Orders, func(o Order) int64 { return o.ID })...)
			c.filled("tags", "id", ids(customer.Tags, func(t *Tag) int64 { return t.ID })...)
		}},
		{"all options at once", func(c cell) {
			rows := []Customer{{Orders: make([]Order, 3)}, {}, {}}
			require.NoError(c, c.db.Session(&gorm.Session{
				SkipHooks: true, PrepareStmt: true, SkipDefaultTransaction: true, AllowGlobalUpdate: true,
				FullSaveAssociations: true, CreateBatchSize: 2, QueryFields: true, DisableNestedTransaction: true, PropagateUnscoped: true,
			}).Create(&rows).Error)
			c.filled("customers", "id", rows[0].ID, rows[1].ID, rows[2].ID)
			c.filled("orders", "id", ids(rows[0].Orders, func(o Order) int64 { return o.ID })...)
		}},
		{"another *gorm.DB with another worker, at once", func(c cell) {
			db := open(c, c.dialector(), gormplugin.New(newGeneratorOf(c, worker+1), gormplugin.Config{}))
			var rows [2][20]Plain
			var wg sync.WaitGroup
			for i, db := range []*gorm.DB{c.db, db} {
				wg.Go(func() {
					for j := range rows[i] {
						if err := db.Create(&rows[i][j]).Error; err != nil {
							c.Errorf("row %d: %v", j, err)
						}
					}
				})
			}
			wg.Wait()
			mine, others := ids(rows[0][:], plainID), ids(rows[1][:], plainID)
			c.issued(mine...)
			c.issuedBy(worker+1, others...)
			c.holds("plains", "id", append(mine, others...)...)
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
