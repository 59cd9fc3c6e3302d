package gormplugin_test

import (
	"encoding/json"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowlease/snowlease/publicid"
)

// The models of a shop whose keys people see. Each is its own kind.
type (
	PublicCustomer struct {
		ID     publicid.ID[PublicCustomer] `gorm:"primaryKey" json:"id"`
		Name   string                      `gorm:"size:50;uniqueIndex" json:"-"`
		Orders []PublicOrder               `gorm:"foreignKey:CustomerID;constraint:-" json:"-"`
		Labels []*PublicLabel              `gorm:"many2many:public_customer_labels" json:"-"`
	}
	PublicOrder struct {
		ID         publicid.ID[PublicOrder]     `json:"id"`
		CustomerID publicid.ID[PublicCustomer]  `json:"customer_id"`
		ReferrerID *publicid.ID[PublicCustomer] `json:"referrer_id"`
		Referrer   *PublicCustomer              `json:"-"`
	}
	PublicLabel struct {
		ID    publicid.ID[PublicLabel]
		Title string `gorm:"size:50;uniqueIndex"`
	}
	// PublicLine has a composite key whose other part is a foreign key.
	PublicLine struct {
		OrderID publicid.ID[PublicOrder] `gorm:"primaryKey"`
		ID      publicid.ID[PublicLine]  `gorm:"primaryKey"`
	}
	PublicPointed struct {
		ID *publicid.ID[PublicOrder] `gorm:"primaryKey"`
	}
)

var (
	publicOrders    = publicid.Must(publicid.NewSealed("ord", []byte("a secret of the tests, 32 bytes.")))
	publicCustomers = publicid.Must(publicid.New("cus"))
)

func (PublicCustomer) Codec() *publicid.Codec { return publicCustomers }
func (PublicOrder) Codec() *publicid.Codec    { return publicOrders }
func (PublicLabel) Codec() *publicid.Codec    { return nil } // a key needs none
func (PublicLine) Codec() *publicid.Codec     { return nil }

// number returns the number of an id, as the table holds it.
func number[K publicid.Kind](id publicid.ID[K]) any { return int64(id) }

func publicIDs() []way {
	return []way{
		{"publicid.ID: struct, slice, pointers, batches", func(c cell) {
			row, rows, pointers := PublicOrder{}, make([]PublicOrder, 2), []*PublicOrder{{}, {}}
			require.NoError(c, c.db.Create(&row).Error)
			require.NoError(c, c.db.CreateInBatches(&rows, 1).Error)
			require.NoError(c, c.db.Create(pointers).Error)
			require.NoError(c, c.db.Save(&row).Error)
			c.filled("public_orders", "id", number(row.ID), number(rows[0].ID), number(rows[1].ID), number(pointers[0].ID), number(pointers[1].ID))
		}},
		{"publicid.ID: pointer, composite key", func(c cell) {
			pointed, lines := PublicPointed{}, []PublicLine{{OrderID: 5}, {OrderID: 5}}
			require.NoError(c, c.db.Create(&pointed).Error)
			c.filled("public_pointeds", "id", number(*pointed.ID))
			require.NoError(c, c.db.Create(&lines).Error)
			c.filled("public_lines", "id", number(lines[0].ID), number(lines[1].ID))
			c.holds("public_lines", "order_id", 5, 5)
			var read PublicLine
			require.NoError(c, c.db.Take(&read, &lines[1]).Error)
			require.Equal(c, lines[1], read)
		}},
		{"publicid.ID: maps", func(c cell) {
			m, maps := map[string]any{"customer_id": publicid.ID[PublicCustomer](3)}, []map[string]any{{"customer_id": 3}, {"customer_id": 3, "id": publicid.ID[PublicOrder](9)}}
			require.NoError(c, c.db.Model(&PublicOrder{}).Create(m).Error)
			require.NoError(c, c.db.Model(&PublicOrder{}).Create(maps).Error)
			c.issued(m["id"], maps[0]["id"])
			c.holds("public_orders", "id", m["id"], maps[0]["id"], 9)
			c.holds("public_orders", "customer_id", 3, 3, 3)
		}},
		{"publicid.ID: associations of all kinds", func(c cell) {
			label, referrer := &PublicLabel{Title: c.name()}, &PublicCustomer{Name: c.name()}
			customers := []PublicCustomer{
				{Name: c.name(), Orders: []PublicOrder{{Referrer: referrer}, {}}, Labels: []*PublicLabel{label, {Title: c.name()}}},
				{Name: c.name(), Orders: []PublicOrder{{}}, Labels: []*PublicLabel{label}},
			}
			require.NoError(c, c.db.Create(&customers).Error)
			a, b := customers[0], customers[1]
			c.filled("public_customers", "id", number(a.ID), number(b.ID), number(referrer.ID))
			c.filled("public_orders", "id", number(a.Orders[0].ID), number(a.Orders[1].ID), number(b.Orders[0].ID))
			c.holds("public_orders", "customer_id", number(a.ID), number(a.ID), number(b.ID))
			c.holds("public_orders WHERE referrer_id IS NOT NULL", "referrer_id", number(referrer.ID))
			c.filled("public_labels", "id", number(label.ID), number(a.Labels[1].ID))
			c.holds("public_customer_labels", "public_label_id", number(label.ID), number(a.Labels[1].ID), number(label.ID))

			var read PublicCustomer
			require.NoError(c, c.db.Preload("Orders", func(db *gorm.DB) *gorm.DB { return db.Order("id") }).Preload("Orders.Referrer").Preload("Labels").First(&read, "id = ?", a.ID).Error)
			require.Equal(c, referrer.ID, read.Orders[0].Referrer.ID)
			require.Equal(c, a.Orders[1], read.Orders[1])
			require.Len(c, read.Labels, 2)
			require.NoError(c, c.db.Model(&read).Association("Labels").Delete(label))
			c.holds("public_customer_labels", "public_label_id", number(a.Labels[1].ID), number(label.ID))
		}},
		{"publicid.ID: upsert of a row that is there", func(c cell) {
			first := PublicCustomer{Name: c.name()}
			require.NoError(c, c.db.Create(&first).Error)
			again := PublicCustomer{Name: first.Name, Orders: make([]PublicOrder, 1)}
			require.NoError(c, c.db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, UpdateAll: true}).Create(&again).Error)
			require.Equal(c, first.ID, again.ID)
			c.filled("public_customers", "id", number(first.ID))
			c.holds("public_orders", "customer_id", number(first.ID))
		}},
		{"publicid.ID: what is written as JSON finds the row again", func(c cell) {
			customer := PublicCustomer{Name: c.name(), Orders: make([]PublicOrder, 2)}
			require.NoError(c, c.db.Create(&customer).Error)
			text, err := json.Marshal(customer.Orders[1])
			require.NoError(c, err)
			require.Regexp(c, `^{"id":"ord_\w{26}","customer_id":"cus_\w{14}","referrer_id":null}$`, string(text))
			var asked, read PublicOrder
			require.NoError(c, json.Unmarshal(text, &asked))
			for _, find := range []*gorm.DB{
				c.db.Where("id = ?", asked.ID), c.db.Where("id IN ?", []publicid.ID[PublicOrder]{asked.ID}), c.db.Where(&PublicOrder{ID: asked.ID}),
				c.db.Where(map[string]any{"id": asked.ID}), c.db.Where("customer_id = ? AND id > ?", customer.ID, customer.Orders[0].ID),
			} {
				read = PublicOrder{}
				require.NoError(c, find.Take(&read).Error)
				require.Equal(c, customer.Orders[1], read)
			}
			require.NoError(c, c.db.First(&PublicOrder{}, asked.ID).Error)
			require.NoError(c, c.db.Model(&PublicOrder{}).Where("id = ?", asked.ID).Update("referrer_id", customer.ID).Error)
			var ids []publicid.ID[PublicCustomer]
			require.NoError(c, c.db.Model(&PublicOrder{}).Where("id = ?", asked.ID).Pluck("referrer_id", &ids).Error)
			require.Equal(c, []publicid.ID[PublicCustomer]{customer.ID}, ids)
			require.NoError(c, c.db.Delete(&asked).Error)
			c.holds("public_orders", "id", number(customer.Orders[0].ID))
		}},
		{"publicid.ID: a column of BIGINT", func(c cell) {
			types, err := c.db.Migrator().ColumnTypes(&PublicOrder{})
			require.NoError(c, err)
			for _, typ := range types {
				require.Contains(c, []string{"bigint", "int8"}, typ.DatabaseTypeName(), typ.Name())
				increments, _ := typ.AutoIncrement()
				require.False(c, increments)
			}
		}},
	}
}
