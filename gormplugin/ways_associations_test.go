package gormplugin_test

import (
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
			require.NoError(c, c.db.Create(&customers).Error)
			a, b := customers[0], customers[1]
			c.filled("customers", "id", a.ID, b.ID)
			c.filled("profiles", "id", a.Profile.ID, b.Profile.ID)
			c.holds("profiles", "customer_id", a.ID, b.ID)
			c.filled("orders", "id", a.Orders[0].ID, a.Orders[1].ID, b.Orders[0].ID)
			c.holds("orders", "customer_id", a.ID, a.ID, b.ID)
			items := []*Item{a.Orders[0].Items[0], a.Orders[0].Items[1], b.Orders[0].Items[0]}
			c.filled("items", "id", ids(items, func(i *Item) int64 { return i.ID })...)
			c.filled("products", "id", ids(items, func(i *Item) int64 { return i.Product.ID })...)
			c.holds("items", "product_id", ids(items, func(i *Item) int64 { return i.Product.ID })...)
			c.holds("items", "order_id", a.Orders[0].ID, a.Orders[0].ID, b.Orders[0].ID)
			c.filled("tags", "id", shared.ID, a.Tags[1].ID)
			c.holds("customer_tags", "tag_id", shared.ID, a.Tags[1].ID)
			var joins []CustomerTag
			require.NoError(c, c.db.Find(&joins).Error)
			c.filled("customer_tags", "id", joins[0].ID, joins[1].ID)
		}},
		{"join table without a model", func(c cell) {
			rows := []Article{{Topics: []Topic{{Title: c.name()}, {Title: c.name()}}}, {}}
			require.NoError(c, c.db.Create(&rows).Error)
			topics := rows[0].Topics
			c.filled("topics", "id", topics[0].ID, topics[1].ID)
			c.holds("article_topics", "topic_id", topics[0].ID, topics[1].ID)
			c.holds("article_topics", "article_id", rows[0].ID, rows[0].ID)
		}},
		{"polymorphic, one and many", func(c cell) {
			posts := []Post{{Cover: &Comment{}, Comments: []Comment{{}, {}}}, {Comments: []Comment{{}}}}
			require.NoError(c, c.db.Create(&posts).Error)
			c.filled("posts", "id", posts[0].ID, posts[1].ID)
			c.filled("comments", "id", posts[0].Cover.ID, posts[0].Comments[0].ID, posts[0].Comments[1].ID, posts[1].Comments[0].ID)
			c.holds("comments", "owner_id", posts[0].ID, posts[0].ID, posts[0].ID, posts[1].ID)
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
		{"AUTO_INCREMENT on both sides", func(c cell) {
			wallets := []Wallet{{Entries: []Entry{{}, {}}}, {}, {Entries: []Entry{{}}}}
			require.NoError(c, c.db.Create(&wallets).Error)
			c.filled("wallets", "id", wallets[0].ID, wallets[1].ID, wallets[2].ID)
			c.filled("entries", "id", wallets[0].Entries[0].ID, wallets[0].Entries[1].ID, wallets[2].Entries[0].ID)
			c.holds("entries", "wallet_id", wallets[0].ID, wallets[0].ID, wallets[2].ID)
		}},
		{"association mode: replace", func(c cell) {
			article := Article{Topics: []Topic{{Title: c.name()}}}
			require.NoError(c, c.db.Create(&article).Error)
			require.NoError(c, c.db.Model(&article).Association("Topics").Replace([]Topic{{Title: c.name()}}))
			c.holds("article_topics", "topic_id", article.Topics[0].ID)
			c.issued(article.Topics[0].ID)
		}},
		{"a parent that rows share", func(c cell) {
			customer := &Customer{Name: c.name()}
			orders := []*Order{{Customer: customer}, {Customer: customer}}
			require.NoError(c, c.db.Create(&orders).Error)
			c.filled("customers", "id", customer.ID)
			c.holds("orders", "customer_id", customer.ID, customer.ID)
		}},
		{"a parent that rows share, saved in full", func(c cell) {
			// GORM alone stores the customer twice.
			customer := &Customer{Name: c.name(), Tags: []*Tag{{}}}
			orders := []*Order{{Customer: customer}, {Customer: customer}}
			require.NoError(c, c.db.Session(&gorm.Session{FullSaveAssociations: true}).Create(&orders).Error)
			c.filled("customers", "id", customer.ID)
			c.holds("orders", "customer_id", customer.ID, customer.ID)
			c.holds("customer_tags", "customer_id", customer.ID)
		}},
		{"association mode", func(c cell) {
			customer := Customer{Name: c.name()}
			require.NoError(c, c.db.Create(&customer).Error)
			require.NoError(c, c.db.Model(&customer).Association("Orders").Append(&Order{}, &Order{}))
			require.NoError(c, c.db.Model(&customer).Association("Tags").Append(&Tag{}))
			c.filled("orders", "id", customer.Orders[0].ID, customer.Orders[1].ID)
			c.filled("tags", "id", customer.Tags[0].ID)
			c.holds("customer_tags", "tag_id", customer.Tags[0].ID)
		}},
		{"saved with an update", func(c cell) {
			customer := Customer{Name: c.name()}
			require.NoError(c, c.db.Create(&customer).Error)
			customer.Orders = []Order{{Items: []*Item{{Product: Product{Name: "a"}}}}}
			require.NoError(c, c.db.Session(&gorm.Session{FullSaveAssociations: true}).Updates(&customer).Error)
			c.filled("orders", "id", customer.Orders[0].ID)
			c.filled("items", "id", customer.Orders[0].Items[0].ID)
		}},
		{"Select of a nested association", func(c cell) {
			customer := Customer{Name: c.name(), Orders: []Order{{Items: []*Item{{Product: Product{Name: "a"}}}}}, Profile: &Profile{}}
			require.NoError(c, c.db.Select("Name", "Orders", "Orders.Items", "Orders.Items.Product").Create(&customer).Error)
			c.filled("customers", "id", customer.ID)
			c.filled("orders", "id", customer.Orders[0].ID)
			c.holds("profiles", "id")
		}},
	}
}
