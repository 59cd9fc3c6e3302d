package gormplugin_test

import (
	"encoding/json"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

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

// number returns the number of an id, as the table holds it.
func number[K publicid.Kind](id publicid.ID[K]) any { return int64(id) }

func publicIDs() []way {
	return []way{
		{"publicid.ID: associations of all kinds", func(c cell) {
			label, referrer := &PublicLabel{Title: c.name()}, &PublicCustomer{Name: c.name()}
			customers := []PublicCustomer{
				{Name: c.name(), Orders: []PublicOrder{{Referrer: referrer}, {}}, Labels: []*PublicLabel{label, {Title: c.name()}}},
				{Name: c.name(), Orders: []PublicOrder{{}}, Labels: []*PublicLabel{label}},
			}
			require.NoError(c, c.db.Create(&customers).Error)
			a, b := customers[0], customers[1]
			c.filled("public_customers", "id", number(a.ID), number(b.ID), number(referrer.ID))
			c.stored(nil, append(a.Orders, b.Orders...))
			c.holds("public_orders", "customer_id", number(a.ID), number(a.ID), number(b.ID))
			c.holds("public_orders WHERE referrer_id IS NOT NULL", "referrer_id", number(referrer.ID))
			c.stored(nil, a.Labels)
			c.holds("public_customer_labels", "public_label_id", number(label.ID), number(a.Labels[1].ID), number(label.ID))

			var read PublicCustomer
			require.NoError(c, c.db.Preload("Orders", func(db *gorm.DB) *gorm.DB { return db.Order("id") }).Preload("Orders.Referrer").Preload("Labels").First(&read, "id = ?", a.ID).Error)
			require.Equal(c, referrer.ID, read.Orders[0].Referrer.ID)
			require.Equal(c, a.Orders[1], read.Orders[1])
			require.Len(c, read.Labels, 2)
		}},
		{"publicid.ID: what is written as JSON finds the row again", func(c cell) {
			customer := PublicCustomer{Name: c.name(), Orders: make([]PublicOrder, 2)}
			require.NoError(c, c.db.Create(&customer).Error)
			text, err := json.Marshal(customer.Orders[1])
			require.NoError(c, err)
			require.Regexp(c, `^{"id":"ord_\w{26}","customer_id":"cus_\w{14}","referrer_id":null}$`, string(text))
			var asked PublicOrder
			require.NoError(c, json.Unmarshal(text, &asked))
			for _, find := range []*gorm.DB{
				c.db.Where("id = ?", asked.ID), c.db.Where("id IN ?", []publicid.ID[PublicOrder]{asked.ID}), c.db.Where(&PublicOrder{ID: asked.ID}),
				c.db.Where(map[string]any{"id": asked.ID}), c.db.Where("customer_id = ? AND id > ?", customer.ID, customer.Orders[0].ID),
			} {
				var read PublicOrder
				require.NoError(c, find.Take(&read).Error)
				require.Equal(c, customer.Orders[1], read)
			}
			require.NoError(c, c.db.Model(&asked).Update("referrer_id", customer.ID).Error)
			c.holds("public_orders WHERE referrer_id IS NOT NULL", "referrer_id", number(customer.ID))
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
