package gormplugin_test

import (
	"database/sql"
	"time"

	"gorm.io/gorm"

	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/idworker/snowflake"
)

// The models of the suite, by what is special about their keys.
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
	// Composite is filled at ID.
	Composite struct {
		Tenant int64 `gorm:"primaryKey;autoIncrement:false"`
		ID     int64 `gorm:"primaryKey;autoIncrement:false"`
		Name   string
	}
	// Chosen is filled at No, which GORM has no preference for.
	Chosen struct {
		Tenant int64 `gorm:"primaryKey;autoIncrement:false"`
		No     int64 `gorm:"primaryKey;autoIncrement:false" idworker:"true"`
		Name   string
	}
	// Hooked notes the key that its hooks see.
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

// A small shop: all four kinds of association, three deep.
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
	// CustomerTag is a join row with a key of its own.
	CustomerTag struct {
		ID         int64 `gorm:"primaryKey;autoIncrement:false"`
		CustomerID int64
		TagID      int64
		CreatedAt  time.Time
	}
)

func models() []any {
	return []any{
		&Plain{}, &Based{}, &Auto{}, &Int{}, &Uint{}, &Uint64{}, &Typed{}, &Snow{}, &Text{}, &Base36{}, &Bytes{},
		&Pointed{}, &Null{}, &NullPointed{}, &Column{}, &Prefixed{}, &PointerBased{}, &Composite{}, &Chosen{},
		&Hooked{}, &Stubborn{}, &Product{}, &Tag{}, &Customer{}, &Profile{}, &Order{}, &Item{}, &CustomerTag{},
	}
}
