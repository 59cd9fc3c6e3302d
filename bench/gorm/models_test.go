package gorm_test

import (
	"github.com/bwmarrin/snowflake"
	"gorm.io/gorm"
)

// The same row in four ways to get its key. Their tables differ in the key alone.
type (
	// AutoRow is numbered by the database.
	AutoRow struct {
		ID    int64 `gorm:"primaryKey"`
		Name  string
		Total int64
	}
	// FilledRow is filled by gormplugin.
	FilledRow struct {
		ID    int64 `gorm:"primaryKey;autoIncrement:false"`
		Name  string
		Total int64
	}
	// HookRow fills itself.
	HookRow struct {
		ID    int64 `gorm:"primaryKey;autoIncrement:false"`
		Name  string
		Total int64
	}
	// NextRow is filled by invzhi/next.
	NextRow struct {
		ID    int64 `gorm:"primaryKey;autoIncrement:false;next:id"`
		Name  string
		Total int64
	}
)

// node is a global, as it is where people write this hook.
var node = must(snowflake.NewNode(1))

// BeforeCreate is the hook that is in most code bases.
func (r *HookRow) BeforeCreate(*gorm.DB) error {
	if r.ID == 0 {
		r.ID = node.Generate().Int64()
	}
	return nil
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
