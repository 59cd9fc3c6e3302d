package gormplugin_test

import (
	"slices"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
)

func associations() []way {
	return []way{
		{"all four kinds, three deep", func(c cell) {
			shared := &Tag{Name: "shared"}
			customers := []Customer{
				{Profile: &Profile{}, Orders: []Order{{Items: []*Item{{Product: Product{Name: "a"}}, {Product: Product{Name: "b"}}}}, {}}, Tags: []*Tag{shared, {}}},
				{Profile: &Profile{}, Orders: []Order{{Items: []*Item{{Product: Product{Name: "c"}}}}}},
			}
			c.stored(c.db.Create(&customers).Error, customers)
			a, b := customers[0], customers[1]
			c.stored(nil, []*Profile{a.Profile, b.Profile})
			c.holds("profiles", "customer_id", a.ID, b.ID)
			c.stored(nil, append(a.Orders, b.Orders...))
			c.holds("orders", "customer_id", a.ID, a.ID, b.ID)
			items := slices.Concat(a.Orders[0].Items, b.Orders[0].Items)
			c.stored(nil, items)
			c.holds("items", "order_id", a.Orders[0].ID, a.Orders[0].ID, b.Orders[0].ID)
			products := ids(items, func(i *Item) int64 { return i.Product.ID })
			c.filled("products", "id", products...)
			c.holds("items", "product_id", products...)
			c.stored(nil, a.Tags)
			c.holds("customer_tags", "tag_id", shared.ID, a.Tags[1].ID)
			var joins []CustomerTag
			c.stored(c.db.Order("id").Find(&joins).Error, joins)
		}},
		{"a parent that rows share", func(c cell) {
			for _, full := range []bool{false, true} { // GORM alone stores it twice if it saves in full
				customer := &Customer{Name: c.name(), Tags: []*Tag{{}}}
				orders := []*Order{{Customer: customer}, {Customer: customer}}
				require.NoError(c, c.db.Session(&gorm.Session{FullSaveAssociations: full}).Create(&orders).Error)
				c.stored(nil, customer)
				c.holds("orders", "customer_id", customer.ID, customer.ID)
				c.holds("customer_tags", "customer_id", customer.ID)
				c.empty([]string{"customers", "orders", "customer_tags"})
			}
		}},
	}
}
