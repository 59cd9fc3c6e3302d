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
		{"self-referencing, three deep, and many to many", func(c cell) {
			friend := &Node{}
			root := Node{Children: []*Node{{Children: []*Node{{}, {}}}, {}}, Friends: []*Node{friend, {}}}
			require.NoError(c, c.db.Create(&root).Error)
			child := root.Children[0]
			c.filled("nodes", "id", root.ID, child.ID, root.Children[1].ID, child.Children[0].ID, child.Children[1].ID, friend.ID, root.Friends[1].ID)
			c.holds("nodes WHERE parent_id IS NOT NULL", "parent_id", root.ID, root.ID, child.ID, child.ID)
			c.holds("node_friends", "friend_id", friend.ID, root.Friends[1].ID)
			c.holds("node_friends", "node_id", root.ID, root.ID)
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
		{"association mode", func(c cell) {
			customer := Customer{Name: c.name()}
			require.NoError(c, c.db.Create(&customer).Error)
			require.NoError(c, c.db.Model(&customer).Association("Orders").Append(&Order{}, &Order{}))
			require.NoError(c, c.db.Model(&customer).Association("Tags").Append(&Tag{}))
			c.stored(nil, customer.Orders)
			c.stored(nil, customer.Tags)
			c.holds("customer_tags", "tag_id", customer.Tags[0].ID)
		}},
	}
}
