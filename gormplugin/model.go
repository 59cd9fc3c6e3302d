package gormplugin

import (
	"time"

	"gorm.io/gorm"
)

// Model is a base for models in the place of gorm.Model: the same columns, an id
// that the plugin fills instead of AUTO_INCREMENT, and soft delete. In JSON the id
// is a string, since JavaScript numbers end at 2^53.
//
//	type Order struct {
//		gormplugin.Model
//		Total int64
//	}
//
// A model that wants less declares the key alone:
//
//	ID int64 `gorm:"primaryKey;autoIncrement:false" json:"id,string"`
type Model struct {
	ID        int64          `gorm:"primaryKey;autoIncrement:false" json:"id,string"`
	CreatedAt time.Time      `json:"created_at"`
	UpdatedAt time.Time      `json:"updated_at"`
	DeletedAt gorm.DeletedAt `gorm:"index" json:"deleted_at"`
}
