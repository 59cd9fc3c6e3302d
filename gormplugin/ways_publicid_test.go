package gormplugin_test

import (
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/publicid"
)

// The models of a shop whose keys people see. Each is its own kind.
type (
	PublicCustomer struct {
		ID     publicid.ID[PublicCustomer] `gorm:"primaryKey"`
		Name   string                      `gorm:"size:50;uniqueIndex"`
		Orders []PublicOrder               `gorm:"foreignKey:CustomerID;constraint:-"`
		Labels []*PublicLabel              `gorm:"many2many:public_customer_labels"`
	}
	PublicOrder struct {
		ID         publicid.ID[PublicOrder]
		CustomerID publicid.ID[PublicCustomer]
		ReferrerID *publicid.ID[PublicCustomer]
		Referrer   *PublicCustomer
	}
	PublicLabel struct {
		ID    publicid.ID[PublicLabel]
		Title string `gorm:"size:50;uniqueIndex"`
	}
	PublicLine struct {
		OrderID publicid.ID[PublicOrder] `gorm:"primaryKey"`
		ID      publicid.ID[PublicLine]  `gorm:"primaryKey"`
	}
	PublicPointed struct {
		ID *publicid.ID[PublicOrder] `gorm:"primaryKey"`
	}
)

// A key needs no codec.
func (PublicCustomer) Codec() *publicid.Codec { return nil }
func (PublicOrder) Codec() *publicid.Codec    { return nil }
func (PublicLabel) Codec() *publicid.Codec    { return nil }
func (PublicLine) Codec() *publicid.Codec     { return nil }

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
