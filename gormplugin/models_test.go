package gormplugin_test

import (
	"database/sql"
	"errors"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/publicid"
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
	// The columns of these are too small for ids, but not on SQLite, which ignores sizes.
	Declared struct {
		ID int64 `gorm:"primaryKey;autoIncrement:false;type:integer"`
	}
	DeclaredText struct {
		ID string `gorm:"primaryKey;type:char(16)"`
	}
	DeclaredNumber struct {
		ID int64 `gorm:"primaryKey;autoIncrement:false;type:char(16)"`
	}
	DeclaredBase36 struct {
		ID string `gorm:"primaryKey;type:varchar(6)"`
	}
	// Made has a column that the database fills and GORM cannot know.
	Made struct {
		ID     int64
		Name   string `gorm:"size:50;uniqueIndex"`
		Origin string `gorm:"size:20;default:(lower('DATABASE'))"`
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
	Typed struct {
		ID   OrderID `gorm:"primaryKey;autoIncrement:false"`
		Name string
	}
	Snow struct {
		ID     snowflake.ID `gorm:"primaryKey"`
		Parent *snowflake.ID
	}
	Text struct {
		ID string `gorm:"primaryKey;size:20"`
	}
	Base36 struct {
		ID string `gorm:"primaryKey;size:13"`
	}
	Base62 struct {
		ID CaseText `gorm:"primaryKey"`
	}
	// CaseText has a case-sensitive column.
	CaseText string
	SKU      uint64
	TypedU   struct {
		ID SKU `gorm:"primaryKey;autoIncrement:false"`
	}
	Bytes struct {
		ID []byte `gorm:"primaryKey;size:20"`
	}
	// TextNumber has a column of numbers.
	TextNumber struct {
		ID string `gorm:"primaryKey;type:bigint"`
	}
	// The default is no id.
	DefaultZero struct {
		ID int64 `gorm:"primaryKey;default:0;autoIncrement:false"`
	}
	Pointed struct {
		ID *int64 `gorm:"primaryKey;autoIncrement:false"`
	}
	Null struct {
		ID sql.NullInt64 `gorm:"primaryKey;autoIncrement:false"`
	}
	NullPointed struct {
		ID *sql.Null[int64] `gorm:"primaryKey;autoIncrement:false"`
	}
	Column struct {
		Key int64 `gorm:"column:order_no;primaryKey;autoIncrement:false"`
	}
	Base struct {
		ID int64 `gorm:"primaryKey;autoIncrement:false"`
	}
	Prefixed struct {
		Base `gorm:"embedded;embeddedPrefix:x_"`
	}
	PointerBased struct {
		*Base
	}
	NamedBase struct {
		Base *Base `gorm:"embedded;embeddedPrefix:y_"`
	}
	Nested struct {
		Outer NamedBase `gorm:"embedded"`
	}
	SerializedKey struct {
		ID int64 `gorm:"primaryKey;autoIncrement:false;serializer:json"`
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
	// Owner refuses rows in a hook. The key is AUTO_INCREMENT.
	Owner struct {
		gorm.Model
		Name string `gorm:"size:50;uniqueIndex"`
		Seen uint   `gorm:"-"`
	}
	Required struct {
		ID   int64   `gorm:"primaryKey;autoIncrement:false"`
		Name *string `gorm:"size:50;not null;check:required_name,name <> ''"`
	}
	// Stubborn sets its own key.
	Stubborn struct {
		ID   int64 `gorm:"primaryKey;autoIncrement:false"`
		Name string
	}
)

func (h *Hooked) BeforeCreate(*gorm.DB) error { h.Before = h.ID; return nil }
func (h *Hooked) BeforeSave(*gorm.DB) error   { h.Save = h.ID; return nil }

var errNoName = errors.New("a name is required")

func (o *Owner) BeforeCreate(*gorm.DB) error {
	if o.Seen = o.ID; o.Name == "" {
		return errNoName
	}
	return nil
}

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
	// Pet and PetFilled have children, without foreign keys in the database.
	Pet struct {
		gorm.Model
		Name string `gorm:"size:50;uniqueIndex"`
		Toys []Toy  `gorm:"foreignKey:PetID;constraint:-"`
	}
	PetFilled struct {
		gormplugin.Model
		Name   string  `gorm:"size:50;uniqueIndex"`
		Collar *Collar `gorm:"foreignKey:PetID;constraint:-"`
		Toys   []Toy   `gorm:"foreignKey:PetID;constraint:-"`
		Bells  []Bell  `gorm:"polymorphic:Pet;polymorphicValue:filled"`
		Vets   []*Vet  `gorm:"many2many:pet_filled_vets"`
	}
	// PetNamed has a key that is text.
	PetNamed struct {
		ID        string `gorm:"primaryKey;size:20"`
		Name      string `gorm:"size:50;uniqueIndex"`
		UpdatedAt time.Time
		Treats    []Treat `gorm:"foreignKey:PetID"`
	}
	Collar struct{ ID, PetID int64 }
	Toy    struct{ ID, PetID int64 }
	Bell   struct {
		ID, PetID int64
		PetType   string `gorm:"size:20"`
	}
	Treat struct {
		ID    int64
		PetID string `gorm:"size:20"`
	}
	Vet struct {
		gormplugin.Model
		Name string `gorm:"size:50;uniqueIndex"`
	}
)

// Keys that people see. They need no codec.
type (
	PublicOrder struct {
		ID     publicid.ID[PublicOrder]
		Parent *publicid.ID[PublicOrder]
	}
	PublicLine struct {
		OrderID publicid.ID[PublicOrder] `gorm:"primaryKey"`
		ID      publicid.ID[PublicLine]  `gorm:"primaryKey"`
	}
	PublicPointed struct {
		ID *publicid.ID[PublicOrder] `gorm:"primaryKey"`
	}
)

func (PublicOrder) Codec() *publicid.Codec { return nil }
func (PublicLine) Codec() *publicid.Codec  { return nil }

// GormDBDataType returns varchar, in MySQL with a case-sensitive collation.
func (CaseText) GormDBDataType(db *gorm.DB, _ *schema.Field) string {
	if db.Name() == "mysql" {
		return "varchar(11) CHARACTER SET ascii COLLATE ascii_bin"
	}
	return "varchar(11)"
}

func models() []any {
	return []any{
		&Plain{}, &Based{}, &Auto{}, &Int{}, &Uint{}, &Typed{}, &Snow{}, &Text{}, &Base36{}, &Base62{}, &TypedU{}, &Bytes{},
		&TextNumber{}, &DefaultZero{}, &Pointed{}, &Null{}, &NullPointed{}, &Column{}, &Prefixed{}, &PointerBased{}, &Nested{}, &Composite{}, &Chosen{},
		&NamedBase{}, &SerializedKey{}, &Made{}, &Required{}, &Owner{}, &Declared{}, &DeclaredText{}, &DeclaredNumber{}, &DeclaredBase36{}, &Vet{}, &Pet{}, &PetFilled{}, &PetNamed{}, &Collar{}, &Toy{}, &Bell{}, &Treat{},
		&Hooked{}, &Stubborn{}, &Product{}, &Tag{}, &Customer{}, &Profile{}, &Order{}, &Item{}, &CustomerTag{},
		&PublicOrder{}, &PublicLine{}, &PublicPointed{},
	}
}
