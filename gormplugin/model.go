package gormplugin

import (
	"time"

	"gorm.io/gorm"
)

// Model is a base for models that replaces gorm.Model. It has the same columns and soft
// delete, but the plugin fills the id instead of AUTO_INCREMENT. In JSON the id is a
// string, since JavaScript rounds integers above 2^53.
//
//	type Order struct {
//		gormplugin.Model
//		Total int64
//	}
//
// A model that needs only the key declares it:
//
//	ID int64 `gorm:"primaryKey;autoIncrement:false" json:"id,string"`
type Model struct {
	ID        int64          `gorm:"primaryKey;autoIncrement:false" json:"id,string"`
	CreatedAt time.Time      `json:"created_at"`
	UpdatedAt time.Time      `json:"updated_at"`
	DeletedAt gorm.DeletedAt `gorm:"index" json:"deleted_at"`
}
