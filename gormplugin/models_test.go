package gormplugin_test

import (
	"database/sql"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/snowflake"
)

// The models of the suite are named for what is special about their keys.
type (
	Plain struct {
		ID   int64  `gorm:"primaryKey;autoIncrement:false"`
		Name string `gorm:"size:50"`
	}
	Based struct {
		gormplugin.Model
		Name string `gorm:"size:50;uniqueIndex"`
	}
	// Auto is AUTO_INCREMENT, and has another column that the database fills.
	Auto struct {
		gorm.Model
		Name   string `gorm:"size:50;uniqueIndex"`
		Status string `gorm:"size:20;default:new"`
	}
	OrderID int64
	Int     struct {
		ID   int `gorm:"primaryKey;autoIncrement:false"`
		Name string
	}
	Uint struct {
		ID   uint `gorm:"primaryKey;autoIncrement:false"`
		Name string
	}
	Uint64 struct {
		ID   uint64 `gorm:"primaryKey;autoIncrement:false"`
		Name string
	}
	Typed struct {
		ID   OrderID `gorm:"primaryKey;autoIncrement:false"`
		Name string
	}
	Snow struct {
		ID   snowflake.ID `gorm:"primaryKey"`
		Name string
	}
	Text struct {
		ID   string `gorm:"primaryKey;size:20"`
		Name string
	}
	Base36 struct {
		ID   string `gorm:"primaryKey;size:13"`
		Name string
	}
	Base62 struct {
		ID   CaseText `gorm:"primaryKey"`
		Name string
	}
	// CaseText has a case-sensitive column.
	CaseText string
	SKU      uint64
	TypedU   struct {
		ID   SKU `gorm:"primaryKey;autoIncrement:false"`
		Name string
	}
	Bytes struct {
		ID   []byte `gorm:"primaryKey;size:20"`
		Name string
	}
	Pointed struct {
		ID   *int64 `gorm:"primaryKey;autoIncrement:false"`
		Name string
	}
	Null struct {
		ID   sql.NullInt64 `gorm:"primaryKey;autoIncrement:false"`
		Name string
	}
	NullPointed struct {
		ID   *sql.Null[int64] `gorm:"primaryKey;autoIncrement:false"`
		Name string
	}
	Column struct {
		Key  int64 `gorm:"column:order_no;primaryKey;autoIncrement:false"`
		Name string
	}
	Base struct {
		ID int64 `gorm:"primaryKey;autoIncrement:false"`
	}
	Prefixed struct {
		Base `gorm:"embedded;embeddedPrefix:x_"`
		Name string
	}
	PointerBased struct {
		*Base
		Name string
	}
	NamedBase struct {
		Base *Base `gorm:"embedded;embeddedPrefix:y_"`
		Name string
	}
	Nested struct {
		Outer struct {
			Base `gorm:"embedded;embeddedPrefix:b_"`
		} `gorm:"embedded;embeddedPrefix:a_"`
		Name string
	}
	Serialized struct {
		ID     int64    `gorm:"primaryKey;autoIncrement:false"`
		Labels []string `gorm:"serializer:json"`
	}
	SerializedKey struct {
		ID   int64 `gorm:"primaryKey;autoIncrement:false;serializer:json"`
		Name string
	}
	// The field to fill of Composite is ID.
	Composite struct {
		Tenant int64 `gorm:"primaryKey;autoIncrement:false"`
		ID     int64 `gorm:"primaryKey;autoIncrement:false"`
		Name   string
	}
	// The field to fill of Chosen is No, which GORM does not prefer.
	Chosen struct {
		Tenant int64 `gorm:"primaryKey;autoIncrement:false"`
		No     int64 `gorm:"primaryKey;autoIncrement:false" idworker:"true"`
		Name   string
	}
	// Hooked records the key that its hooks see.
	Hooked struct {
		ID           int64 `gorm:"primaryKey;autoIncrement:false"`
		Name         string
		Before, Save int64 `gorm:"-"`
	}
	// Stubborn sets its own key.
	Stubborn struct {
		ID   int64 `gorm:"primaryKey;autoIncrement:false"`
		Name string
	}
)

func (h *Hooked) BeforeCreate(*gorm.DB) error { h.Before = h.ID; return nil }
func (h *Hooked) BeforeSave(*gorm.DB) error   { h.Save = h.ID; return nil }

func (s *Stubborn) BeforeCreate(*gorm.DB) error { s.ID = 7; return nil }

// The models of a small shop have all four kinds of association, on three levels.
type (
	Customer struct {
		gormplugin.Model
		Name    string
		Profile *Profile
		Orders  []Order
		Tags    []*Tag `gorm:"many2many:customer_tags"`
	}
	Profile struct {
		ID         int64 `gorm:"primaryKey;autoIncrement:false"`
		CustomerID int64
		Text       string
	}
	Order struct {
		gormplugin.Model
		CustomerID int64
		Customer   *Customer
		Items      []*Item
	}
	Item struct {
		ID        int64 `gorm:"primaryKey;autoIncrement:false"`
		OrderID   int64
		ProductID int64
		Product   Product
	}
	Product struct {
		gormplugin.Model
		Name string
	}
	Tag struct {
		gormplugin.Model
		Name string
	}
	// CustomerTag is a join row with its own key.
	CustomerTag struct {
		ID         int64 `gorm:"primaryKey;autoIncrement:false"`
		CustomerID int64
		TagID      int64
		CreatedAt  time.Time
	}
)

// More associations.
type (
	Post struct {
		gormplugin.Model
		Cover    *Comment  `gorm:"polymorphic:Owner;polymorphicValue:cover"`
		Comments []Comment `gorm:"polymorphic:Owner"`
	}
	Comment struct {
		ID        int64 `gorm:"primaryKey;autoIncrement:false"`
		OwnerID   int64
		OwnerType string `gorm:"size:20"`
	}
	Node struct {
		ID       int64 `gorm:"primaryKey;autoIncrement:false"`
		ParentID *int64
		Children []*Node `gorm:"foreignKey:ParentID;constraint:OnDelete:CASCADE"`
		Friends  []*Node `gorm:"many2many:node_friends"`
	}
	// Article and Topic have a join table without a model.
	Article struct {
		gormplugin.Model
		Topics []Topic `gorm:"many2many:article_topics"`
	}
	Topic struct {
		gormplugin.Model
		Title string `gorm:"size:50;uniqueIndex"`
	}
	// Wallet is AUTO_INCREMENT, and so are its entries.
	Wallet struct {
		gorm.Model
		Entries []Entry
	}
	Entry struct {
		gorm.Model
		WalletID uint
	}
)

// GormDBDataType returns varchar, in MySQL with a case-sensitive collation.
func (CaseText) GormDBDataType(db *gorm.DB, _ *schema.Field) string {
	if db.Name() == "mysql" {
		return "varchar(11) CHARACTER SET ascii COLLATE ascii_bin"
	}
	return "varchar(11)"
}

// joinTables lists the tables without a model.
func joinTables() []string { return []string{"article_topics", "node_friends"} }

func models() []any {
	return []any{
		&Plain{}, &Based{}, &Auto{}, &Int{}, &Uint{}, &Uint64{}, &Typed{}, &Snow{}, &Text{}, &Base36{}, &Base62{}, &TypedU{}, &Bytes{},
		&Pointed{}, &Null{}, &NullPointed{}, &Column{}, &Prefixed{}, &PointerBased{}, &Composite{}, &Chosen{},
		&NamedBase{}, &Nested{}, &Serialized{}, &SerializedKey{}, &Post{}, &Comment{}, &Node{}, &Topic{}, &Article{}, &Wallet{}, &Entry{},
		&Hooked{}, &Stubborn{}, &Product{}, &Tag{}, &Customer{}, &Profile{}, &Order{}, &Item{}, &CustomerTag{},
	}
}
